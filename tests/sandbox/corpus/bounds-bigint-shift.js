// Bigint shift.
// expect: execution.memory | execution.thrown
async function run(params) {
  return String(1n << 4000000000n).length;
}
