// Function in map callback.
// expect: execution.thrown
// says: one object
// ran: 0
async function run(params) {
  return await Promise.all([{ n: 1 }].map(echo));
}
