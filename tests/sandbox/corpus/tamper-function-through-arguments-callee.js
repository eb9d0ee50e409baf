// Function through arguments callee.
// expect: execution.missing
async function run(params) {
  return (function () { return arguments.callee; })().constructor("return 1")();
}
