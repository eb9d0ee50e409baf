// Proxy array object length.
// expect: execution.thrown
// says: no number
async function run(params) {
  return new Proxy([], { get: (t, k) => (k === "length" ? { valueOf() { throw new Error("no number"); } } : 1) });
}
