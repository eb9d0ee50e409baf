// Regexp lookahead.
// expect: returned false
async function run(params) {
  return /^(?=(a+)+$)(?!b)\1*c/.test("a".repeat(35));
}
