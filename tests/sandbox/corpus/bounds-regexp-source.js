// Regexp source.
// expect: execution.memory | execution.thrown | execution.timeout | execution.stack
async function run(params) {
  return new RegExp("(".repeat(1e6) + ")".repeat(1e6)).test("x");
}
