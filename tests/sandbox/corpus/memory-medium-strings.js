// Many strings, each far below the limit.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  const a = [];
  for (;;) a.push("x".repeat(1e4) + a.length);
}
