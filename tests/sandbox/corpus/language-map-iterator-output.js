// Map iterator output.
// expect: execution.value
// says: /names
async function run(params) {
  return { names: new Map([["a", 1]]).keys() };
}
