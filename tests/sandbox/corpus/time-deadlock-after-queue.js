// Deadlock after queue.
// expect: execution.deadlock
async function run(params) {
  queueMicrotask(() => {});
  await new Promise(() => {});
}
