// Same twice in arguments.
// expect: returned 1
// refs: [["/a", 0, ""], ["/b/0", 0, ""]]
async function run(params) {
  const t = await save({});
  await save({ a: t, b: [t] });
  return 1;
}
