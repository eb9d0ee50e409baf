// Each rejection waits for the next one, so that the chain grows until time or memory ends it.
// expect: execution.timeout | execution.memory
// limits: {"execute_seconds_max": 0.6}
async function run(params) {
  const f = () => Promise.reject(1).catch(f);
  await f();
}
