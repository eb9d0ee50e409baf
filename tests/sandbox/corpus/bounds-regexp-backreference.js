// Regexp backreference.
// expect: execution.timeout
async function run(params) {
  return /(.*)(.*)(.*)(.*)(.*)\1\2\3\4\5x/.test("ab".repeat(200));
}
