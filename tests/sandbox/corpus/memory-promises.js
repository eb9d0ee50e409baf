// Promises without number.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  const all = [];
  for (;;) all.push(new Promise(() => {}));
}
