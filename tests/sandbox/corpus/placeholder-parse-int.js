// Parse int.
// expect: execution.placeholder
async function run(params) {
  return parseInt((await save({})).id);
}
