// Proxy array negative length.
// expect: returned []
async function run(params) {
  return new Proxy([], { get: (t, k) => (k === "length" ? -5 : 1) });
}
