// Too many calls are refused before any of their batch runs.
// expect: execution.calls_budget
// ran: 0
async function run(params) {
  return Promise.all(Array.from({ length: 100000 }, (_, i) => echo({ i })));
}
