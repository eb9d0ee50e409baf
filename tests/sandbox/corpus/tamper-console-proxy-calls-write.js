// Console proxy calls write.
// expect: execution.unawaited_call
// ran: 0
async function run(params) {
  console.log(new Proxy({}, { ownKeys() { save({}); return []; } }));
  return 1;
}
