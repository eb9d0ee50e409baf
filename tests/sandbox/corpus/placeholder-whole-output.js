// The output may be a reference.
// expect: returned null
// output_refs: [["", 0, ""]]
async function run(params) {
  return save({});
}
