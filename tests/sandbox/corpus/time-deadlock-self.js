// Deadlock self.
// expect: execution.thrown | execution.deadlock
async function run(params) {
  let r;
  const p = new Promise((x) => { r = x; });
  r(p);
  return await p;
}
