// Throw getter calls function.
// expect: execution.thrown
// ran: 0
async function run(params) {
  throw { get message() { save({}); return "m"; } };
}
