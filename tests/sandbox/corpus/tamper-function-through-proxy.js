// Function through proxy.
// expect: execution.missing
async function run(params) {
  return new Proxy(function () {}, {}).constructor("return 1")();
}
