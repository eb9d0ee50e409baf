// Big int equality.
// expect: returned [true, false, true, 1]
async function run(params) {
  const { id } = await big({});
  return [id == "9223372036854775807", id === Number(id), new Map([[id, 1]]).has(2n ** 63n - 1n), [id].indexOf(id) + 1];
}
