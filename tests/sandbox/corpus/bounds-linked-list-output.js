// Linked list output.
// expect: execution.stack
async function run(params) {
  let o = null;
  for (let i = 0; i < 1e5; i++) o = { o };
  return o;
}
