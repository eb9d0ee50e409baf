// Object assign.
// expect: execution.placeholder
async function run(params) {
  return Object.assign({}, await save({}));
}
