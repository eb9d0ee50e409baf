// Throw nan.
// expect: execution.thrown
// says: NaN
async function run(params) {
  throw NaN;
}
