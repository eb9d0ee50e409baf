// The same after a call.
// expect: execution.deadlock
// within: 0.3
async function run(params) {
  await echo({});
  await new Promise(() => {});
}
