// Proxy chain get.
// expect: execution.stack
async function run(params) {
  let p = {};
  for (let i = 0; i < 2e5; i++) p = new Proxy(p, {});
  return p.x;
}
