// Recursion with many arguments.
// expect: execution.stack | execution.memory
async function run(params) {
  const f = (...all) => f(...all);
  return f(...Array(60000).fill(1));
}
