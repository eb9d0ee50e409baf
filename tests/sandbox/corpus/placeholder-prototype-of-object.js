// Prototype of object.
// expect: execution.placeholder
async function run(params) {
  return Object.create(await save({}));
}
