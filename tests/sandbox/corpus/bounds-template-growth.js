// Template growth.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  let s = "x";
  for (;;) s = `${s}${s}`;
}
