// Apply spread.
// expect: execution.stack | execution.memory | execution.thrown
async function run(params) {
  return Math.max(...Array(1e6).fill(1));
}
