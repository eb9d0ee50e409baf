// The clock stands still, so waiting for it is endless.
// expect: execution.timeout
async function run(params) {
  while (Date.now() < Infinity) {}
}
