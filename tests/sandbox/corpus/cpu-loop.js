// CPU time has a limit of its own.
// expect: execution.cpu
// limits: {"guest_cpu_seconds_max": 0.2, "execute_seconds_max": 20}
async function run(params) {
  for (;;) {}
}
