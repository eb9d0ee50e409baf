// Math.
// expect: execution.placeholder
async function run(params) {
  return Math.max((await save({})).amount, 1);
}
