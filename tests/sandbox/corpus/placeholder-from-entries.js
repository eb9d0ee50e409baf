// From entries.
// expect: execution.placeholder
async function run(params) {
  return Object.fromEntries((await save({})).list);
}
