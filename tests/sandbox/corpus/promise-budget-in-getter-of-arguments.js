// The last call that the budget allows is made while the arguments of another are encoded.
// expect: execution.calls_budget
// limits: {"calls_max": 1}
// value: 2
// ran: 0
async function run(params) {
  return await echo({
    get b() {
      return echo({}) && 1;
    },
  });
}
