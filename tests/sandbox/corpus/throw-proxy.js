// A thrown proxy.
// expect: execution.thrown
async function run(params) {
  throw new Proxy({}, { get() { throw 1; } });
}
