// Nor does catching the error help.
// expect: execution.calls_budget
// limits: {"execute_seconds_max": 20}
async function run(params) {
  for (let i = 0; i < 300; i++) {
    try {
      await echo({});
    } catch {}
  }
  return "went on";
}
