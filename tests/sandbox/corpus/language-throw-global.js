// Throw global.
// expect: execution.thrown
async function run(params) {
  throw globalThis;
}
