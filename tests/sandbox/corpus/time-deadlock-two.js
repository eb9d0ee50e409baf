// Deadlock two.
// expect: execution.deadlock
async function run(params) {
  let a, b;
  a = new Promise((r) => Promise.resolve().then(() => b.then(r)));
  b = new Promise((r) => a.then(r));
  return await a;
}
