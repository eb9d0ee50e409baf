// Throw bigint.
// expect: execution.thrown
// says: 12n
async function run(params) {
  throw 12n;
}
