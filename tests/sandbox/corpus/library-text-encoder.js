// Text encoder.
// expect: execution.missing
async function run(params) {
  return new TextEncoder().encode("x");
}
