// Promise any race.
// expect: returned ["b", "a", "AggregateError", 2]
async function run(params) {
  const slowly = new Promise(() => {});
  const any = await Promise.any([Promise.reject(1), Promise.resolve("b")]);
  const race = await Promise.race([slowly, Promise.resolve("a")]);
  let e;
  try { await Promise.any([Promise.reject(1), Promise.reject(2)]); } catch (x) { e = x; }
  return [any, race, e.name, e.errors.length];
}
