// Object keys.
// expect: execution.placeholder
async function run(params) {
  return Object.keys(await save({}));
}
