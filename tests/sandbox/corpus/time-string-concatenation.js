// Long strings, made and dropped.
// expect: execution.timeout
async function run(params) {
  let n = 0;
  for (;;) n += ("x".repeat(1e6) + "y").length;
}
