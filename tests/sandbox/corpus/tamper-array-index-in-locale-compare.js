// Array index in locale compare.
// expect: returned [-1, 0]
async function run(params) {
  Object.defineProperty(Array.prototype, 0, { set() { throw new Error("no"); }, configurable: true });
  return Object.setPrototypeOf([["a", "b"], ["é", "é"]].map(([x, y]) => x.localeCompare(y)), Array.prototype);
}
