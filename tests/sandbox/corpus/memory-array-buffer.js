// A huge buffer.
// expect: execution.memory
async function run(params) {
  return new ArrayBuffer(2 ** 31 - 1).byteLength;
}
