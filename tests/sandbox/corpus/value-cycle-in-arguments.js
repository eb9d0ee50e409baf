// The same in arguments.
// expect: execution.value
// says: /a/self
// ran: 0
async function run(params) {
  const a = {};
  a.self = a;
  await echo({ a });
}
