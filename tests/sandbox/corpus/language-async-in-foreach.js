// Async in foreach.
// expect: execution.unawaited_call
// ran: 0
async function run(params) {
  [1, 2].forEach(async (n) => { await echo({ n }); });
  return null;
}
