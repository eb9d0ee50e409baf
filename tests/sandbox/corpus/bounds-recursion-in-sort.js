// Recursion in sort.
// expect: execution.stack
async function run(params) {
  const f = () => [2, 1].sort(f) && 0;
  return f();
}
