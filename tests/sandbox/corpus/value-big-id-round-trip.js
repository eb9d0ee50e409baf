// A 64-bit id from a function goes back into one unchanged.
// expect: returned {"id": "9223372036854775807", "type": "bigint"}
// args: [{}, {"id": "9223372036854775807"}]
async function run(params) {
  const { id } = await big({});
  return { ...(await echo({ id })), type: typeof id };
}
