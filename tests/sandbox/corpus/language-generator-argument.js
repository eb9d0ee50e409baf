// Generator argument.
// expect: execution.value
// ran: 0
async function run(params) {
  return await echo({ g: (function* () { yield 1; })() });
}
