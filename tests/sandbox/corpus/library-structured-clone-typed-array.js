// Structured clone typed array.
// expect: returned [1, 2, 3]
async function run(params) {
  return structuredClone(new Uint8Array([1, 2, 3]));
}
