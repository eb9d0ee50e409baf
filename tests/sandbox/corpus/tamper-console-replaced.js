// Console replaced.
// expect: returned 1
async function run(params) {
  globalThis.console = null;
  return 1;
}
