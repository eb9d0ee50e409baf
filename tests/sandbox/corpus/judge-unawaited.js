// A question that nobody waits for is never asked.
// judge: true
// expect: execution.unawaited_call
// says: `classify` was called but its promise was never awaited
// ran: 0
async function run(params) {
  classify(["x"], ["a", "b"]);
  return 1;
}
