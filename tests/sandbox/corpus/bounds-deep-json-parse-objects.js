// Deep json parse objects.
// expect: execution.stack
async function run(params) {
  return JSON.parse('{"a":'.repeat(1e5) + "1" + "}".repeat(1e5)) && 1;
}
