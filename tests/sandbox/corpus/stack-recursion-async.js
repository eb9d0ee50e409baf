// Endless recursion of async functions.
// expect: execution.stack
async function run(params) {
  async function f() {
    return (await f()) + 1;
  }
  return f();
}
