// Object keys.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  const o = {};
  for (let i = 0; ; i++) o["k" + i] = i;
}
