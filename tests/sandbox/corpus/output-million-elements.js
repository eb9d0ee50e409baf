// An array of a million elements.
// expect: execution.output_too_large
// limits: {"execute_seconds_max": 10}
async function run(params) {
  return Array.from({ length: 1e6 }, (_, i) => i);
}
