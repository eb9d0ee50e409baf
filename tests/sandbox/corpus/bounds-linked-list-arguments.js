// Linked list arguments.
// expect: execution.stack
// ran: 0
async function run(params) {
  let o = null;
  for (let i = 0; i < 1e5; i++) o = [o];
  return await echo({ o });
}
