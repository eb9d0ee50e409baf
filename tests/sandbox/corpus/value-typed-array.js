// Typed arrays are arrays.
// expect: returned [1, 2]
async function run(params) {
  return new Uint8Array([1, 2]);
}
