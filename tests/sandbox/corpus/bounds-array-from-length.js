// Array from length.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  return Array.from({ length: 1e8 }, (_, i) => ({ i })).length;
}
