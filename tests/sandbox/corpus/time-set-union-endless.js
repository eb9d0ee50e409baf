// Set union endless.
// limits: {"execute_seconds_max": 0.5}
// expect: execution.timeout | execution.memory
async function run(params) {
  return new Set([1]).union({ size: 1, has: () => true, keys: () => ({ next: () => ({ done: false, value: 1 }) }) });
}
