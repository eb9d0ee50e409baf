// Arithmetic of large integers.
// expect: execution.timeout
async function run(params) {
  let x = 3n ** 20000n;
  for (;;) x = (x * x) % (7n ** 20001n);
}
