// A call that is never awaited.
// expect: execution.unawaited_call
// at: 5:3
async function run(params) {
  echo({ a: 1 });
  return 1;
}
