// Proxy array length lie.
// expect: execution.output_too_large | execution.timeout
async function run(params) {
  return new Proxy([], { get: (t, k) => (k === "length" ? 2 ** 40 : 1) });
}
