// Atomics wait.
// expect: execution.missing
async function run(params) {
  return Atomics.wait(new Int32Array(4), 0, 0, 1000);
}
