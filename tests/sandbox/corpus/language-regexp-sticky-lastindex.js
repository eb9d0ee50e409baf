// Regexp sticky lastindex.
// expect: returned [true, false, 0, ["a1", "b2"]]
async function run(params) {
  const r = /a/y;
  const first = r.test("aba");
  const second = r.test("aba");
  return [first, second, r.lastIndex, [..."a1 b2".matchAll(/\w\d/g)].map((m) => m[0])];
}
