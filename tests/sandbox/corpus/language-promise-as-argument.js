// Promise as argument.
// expect: execution.value
// says: await it
// ran: 0
async function run(params) {
  return await echo({ p: Promise.resolve(1) });
}
