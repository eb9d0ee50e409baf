// Arguments with undefined second.
// expect: execution.thrown
// ran: 0
async function run(params) {
  return await echo({ a: 1 }, undefined);
}
