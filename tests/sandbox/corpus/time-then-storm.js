// A chain of promises that never ends.
// expect: execution.timeout | execution.memory
async function run(params) {
  const again = () => Promise.resolve().then(again);
  await again();
}
