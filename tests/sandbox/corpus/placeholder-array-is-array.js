// Array is array.
// expect: returned [false, false]
async function run(params) {
  const t = await save({});
  return [Array.isArray(t), Array.isArray(t.list)];
}
