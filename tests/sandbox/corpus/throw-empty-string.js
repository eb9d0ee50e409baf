// An empty string is an error all the same.
// expect: execution.thrown
async function run(params) {
  throw "";
}
