// Tail call.
// expect: execution.stack
async function run(params) {
  "use strict";
  const f = (n) => (n === 0 ? 1 : f(n - 1));
  return f(1e6);
}
