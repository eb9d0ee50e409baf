// null is an error.
// expect: execution.thrown
// says: null
async function run(params) {
  throw null;
}
