// Argument getter awaits itself.
// expect: execution.value
// ran: 0
async function run(params) {
  return await echo({ get n() { return Promise.resolve(); } });
}
