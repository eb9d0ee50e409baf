// A regular expression that backtracks without end.
// expect: execution.timeout
async function run(params) {
  return /^(a+)+$/.test("a".repeat(40) + "!");
}
