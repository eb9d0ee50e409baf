// Queue microtask loop.
// expect: execution.timeout
async function run(params) {
  const f = () => queueMicrotask(f);
  f();
  await new Promise(() => {});
}
