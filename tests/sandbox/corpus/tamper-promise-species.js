// Promise species.
// expect: returned {"n": 1}
async function run(params) {
  Object.defineProperty(Promise, Symbol.species, { get() { throw new Error("species"); }, configurable: true });
  return await echo({ n: 1 });
}
