// Promise subclass as argument.
// expect: execution.value
// ran: 0
async function run(params) {
  class P extends Promise {}
  return await echo({ p: P.resolve(1) });
}
