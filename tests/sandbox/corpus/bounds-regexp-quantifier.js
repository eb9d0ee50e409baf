// Regexp quantifier.
// expect: execution.memory | execution.thrown | execution.timeout
async function run(params) {
  return new RegExp("(?:a{1000}){1000}{1000}").test("a");
}
