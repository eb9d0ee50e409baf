// For of.
// expect: execution.placeholder
async function run(params) {
  for (const x of (await save({})).list) return x;
}
