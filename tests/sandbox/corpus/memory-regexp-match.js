// Twenty million matches.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  return "a".repeat(2e7).match(/./g).length;
}
