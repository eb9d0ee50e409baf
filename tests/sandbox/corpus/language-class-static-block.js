// Class static block.
// expect: returned [3, true, "#x"]
async function run(params) {
  class A { static n = 1; static #p = 1; static { A.n += 2; } static has(o) { return #p in o; } #x = 1; }
  return [A.n, A.has(A), "#x"];
}
