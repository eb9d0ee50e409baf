// Structured clone boxed.
// expect: returned 5
async function run(params) {
  return structuredClone(Object(5));
}
