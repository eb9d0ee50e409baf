// Endless recursion.
// expect: execution.stack
async function run(params) {
  return (function f() {
    return f() + 1;
  })();
}
