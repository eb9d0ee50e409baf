// Increment.
// expect: execution.placeholder
async function run(params) {
  let { n } = await save({});
  n++;
  return n;
}
