// Typed array to locale.
// expect: execution.missing
async function run(params) {
  return new Uint8Array([1]).toLocaleString();
}
