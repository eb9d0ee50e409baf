// Array iterator output.
// expect: execution.value
async function run(params) {
  return [1, 2].entries();
}
