// Arguments far over their limit.
// expect: execution.args_too_large
// ran: 0
async function run(params) {
  await echo({ text: "x".repeat(9000000) });
}
