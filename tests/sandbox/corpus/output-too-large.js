// An output over its limit; the size is told.
// expect: execution.output_too_large
// value: 300002
async function run(params) {
  return "x".repeat(300000);
}
