// Set immediate.
// expect: execution.missing
async function run(params) {
  await new Promise((r) => setImmediate(r));
}
