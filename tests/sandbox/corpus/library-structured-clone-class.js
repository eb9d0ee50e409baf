// Structured clone class.
// expect: returned [false, {"x": 1}]
async function run(params) {
  class A { x = 1; } const c = structuredClone(new A());
  return [c instanceof A, c];
}
