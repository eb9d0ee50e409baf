// Throw symbol.
// expect: execution.thrown
async function run(params) {
  throw Symbol("s");
}
