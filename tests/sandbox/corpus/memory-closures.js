// A chain of closures.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  let f = () => 1;
  for (;;) {
    const g = f;
    f = () => g;
  }
}
