// A string of 10 MB.
// expect: execution.output_too_large
async function run(params) {
  return "x".repeat(1e7);
}
