// Typeof.
// expect: returned ["object", true, false, true]
async function run(params) {
  const t = await save({});
  return [typeof t, t !== null, t === undefined, !!t];
}
