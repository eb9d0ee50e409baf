// Async dispose.
// limits: {"execute_seconds_max": 0.5}
// expect: execution.timeout | execution.thrown
async function run(params) {
  const s = new DisposableStack();
  s.defer(() => { for (;;); });
  s.dispose();
  return 1;
}
