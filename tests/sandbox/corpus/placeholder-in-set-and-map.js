// In set and map.
// expect: returned [1, true]
async function run(params) {
  const t = await save({});
  return [new Set([t, t]).size, new Map([[t, 1]]).has(t)];
}
