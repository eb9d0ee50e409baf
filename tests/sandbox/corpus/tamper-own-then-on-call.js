// Own then on call.
// expect: execution.unawaited_call
// ran: 0
async function run(params) {
  const p = echo({});
  p.then = (f) => f("stolen");
  return p;
}
