// Arguments over their limit; the size is told.
// expect: execution.args_too_large
// ran: 0
// value: 1100011
async function run(params) {
  await echo({ text: "x".repeat(1100000) });
}
