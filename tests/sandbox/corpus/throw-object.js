// A thrown object is shown.
// expect: execution.thrown
// says: code: 42
async function run(params) {
  throw { code: 42 };
}
