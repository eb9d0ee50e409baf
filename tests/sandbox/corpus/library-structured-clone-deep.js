// Structured clone deep.
// expect: execution.stack
async function run(params) {
  let o = {};
  for (let i = 0; i < 1e5; i++) o = { o };
  return structuredClone(o) && 1;
}
