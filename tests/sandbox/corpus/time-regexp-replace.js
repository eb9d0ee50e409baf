// The same inside replace.
// expect: execution.timeout
async function run(params) {
  return "a".repeat(3e4).replace(/(a*)*b/g, "");
}
