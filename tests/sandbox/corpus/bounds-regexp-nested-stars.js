// Regexp nested stars.
// expect: execution.timeout
async function run(params) {
  return /^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60));
}
