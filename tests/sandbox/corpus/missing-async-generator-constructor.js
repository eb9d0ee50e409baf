// Missing, and says what to use instead.
// expect: execution.missing
// says: does not exist here
async function run(params) {
  return Object.getPrototypeOf(async function* () {}).constructor("yield 1")();
}
