// Performance.
// expect: execution.missing
async function run(params) {
  const t = performance.now();
  return t;
}
