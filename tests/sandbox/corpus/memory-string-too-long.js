// A string longer than there can be.
// expect: execution.thrown
async function run(params) {
  return "a".repeat(2 ** 31).length;
}
