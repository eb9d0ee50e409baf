// A microtask that queues itself without end.
// expect: execution.timeout | execution.memory
async function run(params) {
  const again = () => queueMicrotask(again);
  again();
  await 0;
  return 1;
}
