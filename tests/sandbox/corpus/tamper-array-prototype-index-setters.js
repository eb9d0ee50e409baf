// Array prototype index setters.
// expect: returned {"a": [1, 2, 3]}
async function run(params) {
  for (const k of ["0", "1", "2", "3"]) Object.defineProperty(Array.prototype, k, { set() { throw new Error("caught"); }, get() { return "evil"; }, configurable: true });
  return await echo({ a: [1, 2, 3] });
}
