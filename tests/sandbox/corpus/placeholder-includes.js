// Includes.
// expect: returned false
async function run(params) {
  return [1, 2].includes((await save({})).id);
}
