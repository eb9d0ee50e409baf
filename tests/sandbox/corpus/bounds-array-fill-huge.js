// Array fill huge.
// expect: execution.memory | execution.thrown
async function run(params) {
  return new Array(2 ** 32 - 1).fill(0).length;
}
