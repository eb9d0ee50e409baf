// Error errors branching.
// expect: execution.thrown
// within: 1
async function run(params) {
  const e = new Error("x");
  e.errors = Array(64).fill(e);
  e.cause = e;
  throw e;
}
