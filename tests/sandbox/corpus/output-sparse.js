// An array that is all holes.
// expect: execution.output_too_large
async function run(params) {
  return new Array(4e9);
}
