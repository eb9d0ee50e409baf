// Too many calls one after the other.
// expect: execution.calls_budget
// ran: 256
// limits: {"execute_seconds_max": 20}
async function run(params) {
  for (;;) await echo({});
}
