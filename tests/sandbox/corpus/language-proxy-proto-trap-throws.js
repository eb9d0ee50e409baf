// Proxy proto trap throws.
// expect: execution.thrown
// says: no proto
async function run(params) {
  return new Proxy({}, { getPrototypeOf() { throw new Error("no proto"); } });
}
