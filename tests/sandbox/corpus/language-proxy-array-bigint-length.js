// Proxy array bigint length.
// expect: returned [1, 1]
async function run(params) {
  return new Proxy([], { get: (t, k) => (k === "length" ? 2n : 1) });
}
