// Bigint pow.
// expect: execution.memory | execution.thrown | execution.timeout
async function run(params) {
  return (10n ** 1000000000n) > 0n;
}
