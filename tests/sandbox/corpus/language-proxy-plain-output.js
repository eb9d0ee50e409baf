// Proxy plain output.
// expect: returned {"a": 1, "b": [1, 2]}
async function run(params) {
  return new Proxy({ a: 1, b: new Proxy([1, 2], {}) }, {});
}
