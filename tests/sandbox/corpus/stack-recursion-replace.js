// Recursion through a replacer.
// expect: execution.stack
async function run(params) {
  const f = () => "x".replace(/x/, f);
  return f();
}
