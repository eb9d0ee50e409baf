// Throw false.
// expect: execution.thrown
// says: false
async function run(params) {
  throw false;
}
