// Reverse array like.
// limits: {"execute_seconds_max": 0.5}
// expect: execution.timeout | execution.memory
async function run(params) {
  return [].reverse.call({ length: 2 ** 40 });
}
