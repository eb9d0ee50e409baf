// Source that does not parse.
// expect: execution.thrown
// at: 5:0
async function run(params) {
  const = 1;
}
