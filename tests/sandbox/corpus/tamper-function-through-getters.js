// Function through getters.
// expect: execution.missing
async function run(params) {
  const g = Object.getOwnPropertyDescriptor(Map.prototype, "size").get;
  return g.constructor("return 1")();
}
