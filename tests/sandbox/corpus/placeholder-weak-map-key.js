// Weak map key.
// expect: returned 1
async function run(params) {
  const w = new WeakMap();
  const t = await save({});
  w.set(t, 1);
  return w.get(t);
}
