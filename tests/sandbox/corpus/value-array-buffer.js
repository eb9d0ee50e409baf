// Raw bytes cannot leave.
// expect: execution.value
async function run(params) {
  return new ArrayBuffer(8);
}
