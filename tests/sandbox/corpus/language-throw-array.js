// Throw array.
// expect: execution.thrown
async function run(params) {
  throw [1, 2];
}
