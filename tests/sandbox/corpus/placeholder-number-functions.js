// Number functions.
// expect: execution.placeholder
async function run(params) {
  return Number((await save({})).id);
}
