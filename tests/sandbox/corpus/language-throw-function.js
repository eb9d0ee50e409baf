// Throw function.
// expect: execution.thrown
async function run(params) {
  throw () => 1;
}
