// Nullish.
// expect: returned null
// output_refs: [["", 0, "/id"]]
async function run(params) {
  return (await save({})).id ?? "none";
}
