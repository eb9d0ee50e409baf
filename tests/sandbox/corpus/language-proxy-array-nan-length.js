// Proxy array nan length.
// expect: returned []
async function run(params) {
  return new Proxy([], { get: (t, k) => (k === "length" ? "abc" : 1) });
}
