// Proxy proto trap lies.
// expect: returned {"a": 1}
async function run(params) {
  return new Proxy({ a: 1 }, { getPrototypeOf: () => Date.prototype });
}
