// A promise that nothing can settle is noticed at once.
// expect: execution.deadlock
// within: 0.2
async function run(params) {
  await new Promise(() => {});
}
