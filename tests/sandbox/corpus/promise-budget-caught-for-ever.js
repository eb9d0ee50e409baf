// A program that goes on calling ends by the budget, not by its deadline.
// expect: execution.calls_budget
// limits: {"execute_seconds_max": 20}
async function run(params) {
  for (;;) {
    try {
      await echo({});
    } catch {}
  }
}
