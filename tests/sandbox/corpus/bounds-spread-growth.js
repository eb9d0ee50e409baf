// Spread growth.
// expect: execution.memory | execution.stack
// limits: {"execute_seconds_max": 10}
async function run(params) {
  let a = [1];
  for (;;) a = [...a, ...a];
}
