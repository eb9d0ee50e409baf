// Endless microtasks are no deadlock.
// expect: execution.timeout
async function run(params) {
  while (true) await 0;
}
