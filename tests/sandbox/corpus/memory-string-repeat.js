// The longest string there can be.
// expect: execution.memory
async function run(params) {
  return "a".repeat(2 ** 30 - 1).length;
}
