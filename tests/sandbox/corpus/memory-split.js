// A long string split into letters.
// expect: execution.memory
async function run(params) {
  return "a".repeat(5e7).split("").length;
}
