// Throw in finally replaces.
// expect: execution.thrown
// says: second
async function run(params) {
  try { throw new Error("first"); } finally { throw new Error("second"); }
}
