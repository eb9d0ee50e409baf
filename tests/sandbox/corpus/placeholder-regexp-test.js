// Regexp test.
// expect: execution.placeholder
async function run(params) {
  return /x/.test((await save({})).name);
}
