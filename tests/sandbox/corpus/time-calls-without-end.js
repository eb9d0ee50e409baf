// Waiting for functions counts against the deadline.
// expect: execution.timeout
async function run(params) {
  for (;;) await slow({ seconds: 0.3 });
}
