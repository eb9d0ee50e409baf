// Argument getter throws.
// expect: execution.thrown
// says: from the getter
// ran: 0
async function run(params) {
  return await echo({ get n() { throw new Error("from the getter"); } });
}
