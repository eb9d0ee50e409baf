// Getter calls write in output.
// expect: execution.unawaited_call
// ran: 0
async function run(params) {
  return { get a() { save({}); return 1; } };
}
