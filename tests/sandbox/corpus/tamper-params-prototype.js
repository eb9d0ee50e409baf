// Params prototype.
// expect: returned [true, true, "object"]
// params: {"a": [1]}
async function run(params) {
  return [Object.getPrototypeOf(params) === Object.prototype, Array.isArray(params.a), typeof params];
}
