// Structured clone typed array kind.
// expect: returned [true, 3]
async function run(params) {
  const c = structuredClone(new Float64Array([1, 2, 3]));
  return [c instanceof Float64Array, c.length];
}
