// A broken Promise does not reach the bridge.
// expect: returned {"a": 1}
async function run(params) {
  Promise.prototype.then = () => { throw 1; };
  Promise.resolve = null;
  globalThis.Promise = null;
  return await echo({ a: 1 });
}
