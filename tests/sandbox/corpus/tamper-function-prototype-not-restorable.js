// Function prototype not restorable.
// expect: execution.missing
async function run(params) {
  try { Object.defineProperty(Function.prototype, "constructor", { value: null }); } catch {} return (() => 1).constructor("return 1")();
}
