// A call after the last await.
// expect: execution.unawaited_call
// at: 6:8
async function run(params) {
  await echo({});
  void echo({ a: 1 });
}
