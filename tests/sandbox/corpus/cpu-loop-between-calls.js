// CPU time adds up over calls.
// expect: execution.cpu
// limits: {"guest_cpu_seconds_max": 0.2, "execute_seconds_max": 20, "calls_max": 100000}
async function run(params) {
  for (;;) {
    await echo({});
    for (let i = 0; i < 1e5; i++);
  }
}
