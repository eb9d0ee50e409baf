// Missing, and says what to use instead.
// expect: execution.missing
// says: does not exist here
async function run(params) {
  return new Function("return 1")();
}
