// Error in list.
// expect: returned [{"name": "RangeError", "message": "x"}]
async function run(params) {
  return [new RangeError("x", { cause: 1 })];
}
