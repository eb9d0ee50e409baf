// Destructuring default.
// expect: returned {}
// output_refs: [["/id", 0, "/id"]]
async function run(params) {
  const { id = 5 } = await save({});
  return { id };
}
