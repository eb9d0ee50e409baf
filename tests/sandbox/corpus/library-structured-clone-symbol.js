// Structured clone symbol.
// expect: execution.thrown
async function run(params) {
  return structuredClone({ s: Symbol("x") });
}
