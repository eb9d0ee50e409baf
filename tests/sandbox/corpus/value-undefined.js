// Nothing is null.
// expect: returned null
async function run(params) {
  return undefined;
}
