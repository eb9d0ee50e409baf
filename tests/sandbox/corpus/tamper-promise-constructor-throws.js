// Promise constructor throws.
// expect: execution.thrown
// says: ctor
async function run(params) {
  Object.defineProperty(Promise.prototype, "constructor", { get() { throw new Error("ctor"); }, configurable: true });
  return await echo({ n: 1 });
}
