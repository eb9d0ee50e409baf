// String includes.
// expect: execution.placeholder
async function run(params) {
  return "abc".includes((await save({})).name);
}
