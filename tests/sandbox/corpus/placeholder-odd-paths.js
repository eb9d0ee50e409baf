// Paths are JSON Pointers; a property may have the name of a method.
// expect: returned null
// refs: [["/a", 0, "/x~1y~0z"], ["/b", 0, "/map"], ["/c", 0, "/length"]]
async function run(params) {
  const t = await save({});
  await save({ a: t["x/y~z"], b: t.map, c: t.length });
  return null;
}
