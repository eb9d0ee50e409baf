// Label loop.
// expect: execution.timeout
async function run(params) {
  a: for (;;) { b: for (;;) { continue a; } }
}
