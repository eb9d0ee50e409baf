// Suppressed error.
// expect: execution.thrown
async function run(params) {
  throw new SuppressedError(new Error("a"), new Error("b"), "both");
}
