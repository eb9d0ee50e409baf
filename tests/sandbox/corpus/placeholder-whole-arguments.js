// Whole arguments.
// expect: returned 1
// refs: [["", 0, ""]]
async function run(params) {
  const t = await save({});
  await save(t);
  return 1;
}
