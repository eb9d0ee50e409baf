// Regexp counted.
// expect: returned false
async function run(params) {
  return /(?:(?:(?:a{99}){99}){99}){99}/.test("a");
}
