// A plain endless loop.
// expect: execution.timeout
async function run(params) {
  for (;;) {}
}
