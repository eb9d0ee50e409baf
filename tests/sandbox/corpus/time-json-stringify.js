// A loop below JSON.stringify.
// expect: execution.timeout
async function run(params) {
  return JSON.stringify({ toJSON() { for (;;); } });
}
