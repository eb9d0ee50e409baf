// Recursion in then.
// expect: execution.stack
async function run(params) {
  return { get then() { return this.then; } };
}
