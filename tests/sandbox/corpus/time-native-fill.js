// A native loop over a proxy.
// expect: execution.timeout
async function run(params) {
  return [].fill.call(new Proxy({ length: 2 ** 50 }, { set: () => true }), 1);
}
