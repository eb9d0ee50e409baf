// Recursion through native code.
// expect: execution.stack
async function run(params) {
  const f = () => [1].map(f);
  return f();
}
