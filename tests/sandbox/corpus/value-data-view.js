// Data view.
// expect: execution.value
async function run(params) {
  return new DataView(new ArrayBuffer(2));
}
