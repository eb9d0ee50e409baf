// Output tojson proxy.
// expect: execution.stack | execution.value
async function run(params) {
  return new Proxy({}, { get: (t, k, r) => (k === "toJSON" ? () => r : undefined) });
}
