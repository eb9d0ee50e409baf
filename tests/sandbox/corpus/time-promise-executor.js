// A loop in a promise executor.
// expect: execution.timeout
async function run(params) {
  new Promise(() => {
    for (;;);
  });
}
