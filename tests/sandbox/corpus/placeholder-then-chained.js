// Then chained.
// expect: returned null
// output_refs: [["", 0, "/id"]]
async function run(params) {
  return save({}).then((t) => t.id);
}
