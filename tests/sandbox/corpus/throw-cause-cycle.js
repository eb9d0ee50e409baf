// A cause that is its own.
// expect: execution.thrown
// says: round
async function run(params) {
  const e = new Error("round");
  e.cause = e;
  throw e;
}
