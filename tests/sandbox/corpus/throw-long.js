// A message is cut.
// expect: execution.thrown
// says: xxx
async function run(params) {
  throw new Error("x".repeat(1e6));
}
