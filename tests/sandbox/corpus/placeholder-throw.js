// Throw.
// expect: execution.thrown
// says: result of write
async function run(params) {
  throw await save({});
}
