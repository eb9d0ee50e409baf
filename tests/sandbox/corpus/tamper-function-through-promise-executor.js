// Function through promise executor.
// expect: execution.missing
async function run(params) {
  let f;
  new Promise((r) => { f = r; });
  return f.constructor("return 1")();
}
