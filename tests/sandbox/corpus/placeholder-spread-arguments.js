// Spread arguments.
// expect: execution.placeholder
async function run(params) {
  const t = await save({});
  await save({ ...t });
  return 1;
}
