// A huge typed array.
// expect: execution.memory
async function run(params) {
  return new Float64Array(2 ** 28).length;
}
