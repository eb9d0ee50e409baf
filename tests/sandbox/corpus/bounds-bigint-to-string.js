// Bigint to string.
// expect: execution.timeout | execution.memory | execution.thrown
async function run(params) {
  return (7n ** 3000000n).toString().length;
}
