// Freeze.
// expect: execution.placeholder
async function run(params) {
  return Object.freeze(await save({}));
}
