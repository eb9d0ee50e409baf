// Global this.
// expect: returned {}
async function run(params) {
  return globalThis;
}
