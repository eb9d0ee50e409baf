// Typed array sort.
// expect: execution.timeout
async function run(params) {
  return new Float64Array(1e5).sort(() => { for (;;); });
}
