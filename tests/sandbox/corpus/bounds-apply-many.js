// Apply many.
// expect: execution.stack | execution.memory | execution.thrown
async function run(params) {
  return Math.max.apply(null, Array(1e6).fill(1));
}
