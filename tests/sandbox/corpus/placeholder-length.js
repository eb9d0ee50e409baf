// Length.
// expect: execution.placeholder
async function run(params) {
  const t = await save({});
  if (t.list.length > 0) return 1;
  return 2;
}
