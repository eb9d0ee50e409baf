// A chain in the background that still calls at the end.
// expect: execution.unawaited_call
async function run(params) {
  (async () => {
    await echo({});
    await echo({});
  })();
  await echo({});
  return 1;
}
