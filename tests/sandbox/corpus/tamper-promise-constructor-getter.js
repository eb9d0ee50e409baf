// Promise constructor getter.
// expect: returned {"n": 1}
async function run(params) {
  const p = echo({ n: 1 });
  Object.defineProperty(Promise.prototype, "constructor", { get() { return undefined; }, configurable: true });
  return await p;
}
