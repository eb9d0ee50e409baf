// Throw promise.
// expect: execution.thrown
async function run(params) {
  throw Promise.resolve(1);
}
