// Thenable never as output.
// expect: execution.deadlock
async function run(params) {
  return { then() {} };
}
