// Destructuring.
// expect: returned {}
// output_refs: [["/id", 0, "/id"]]
async function run(params) {
  const { id } = await save({});
  return { id };
}
