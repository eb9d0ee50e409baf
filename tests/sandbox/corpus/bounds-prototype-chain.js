// Prototype chain.
// expect: returned null
async function run(params) {
  let o = null;
  for (let i = 0; i < 1e5; i++) o = Object.create(o);
  return o.x ?? null;
}
