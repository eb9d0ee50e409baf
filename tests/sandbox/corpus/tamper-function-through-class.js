// Function through class.
// expect: execution.missing
async function run(params) {
  return class {}.constructor("return 1")();
}
