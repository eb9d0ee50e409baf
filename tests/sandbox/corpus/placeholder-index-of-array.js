// Index of array.
// expect: execution.placeholder
async function run(params) {
  return ["a", "b"][(await save({})).index];
}
