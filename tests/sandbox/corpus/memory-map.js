// A map that grows.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  const m = new Map();
  let i = 0;
  for (;;) m.set(i++, {});
}
