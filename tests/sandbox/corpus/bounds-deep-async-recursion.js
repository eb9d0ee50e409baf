// Deep async recursion.
// expect: execution.stack | execution.memory
async function run(params) {
  async function f(n) { return 1 + (await f(n + 1)); } return await f(0);
}
