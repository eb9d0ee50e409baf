// Structured clone function.
// expect: execution.thrown
async function run(params) {
  return structuredClone({ f() {} });
}
