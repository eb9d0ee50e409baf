// Big int arithmetic.
// expect: returned ["9223372036854775808", true, "9223372036854776000"]
async function run(params) {
  const { id } = await big({});
  return [id + 1n, id === 2n ** 63n - 1n, String(Number(id))];
}
