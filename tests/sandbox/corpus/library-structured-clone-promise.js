// Structured clone promise.
// expect: execution.thrown
async function run(params) {
  return structuredClone(Promise.resolve(1));
}
