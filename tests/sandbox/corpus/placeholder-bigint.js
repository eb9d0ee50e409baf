// Bigint.
// expect: execution.placeholder
async function run(params) {
  return BigInt((await save({})).id);
}
