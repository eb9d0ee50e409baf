// Global this with cycle.
// expect: execution.value
async function run(params) {
  globalThis.me = globalThis;
  return globalThis;
}
