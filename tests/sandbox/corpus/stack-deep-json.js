// Deeply nested JSON.
// expect: execution.stack
async function run(params) {
  return JSON.parse("[".repeat(1e5) + "]".repeat(1e5)).length;
}
