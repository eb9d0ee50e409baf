// Weakmap steals.
// expect: returned []
async function run(params) {
  const seen = [];
  for (const k of ["get", "set", "has"]) WeakMap.prototype[k] = function (...a) { seen.push(a); };
  const t = await save({});
  await echo({ t2: 1 });
  try { await fail({}); } catch {} return seen;
}
