// Map with placeholder key.
// expect: returned [[null, 1]]
// output_refs: [["/0/0", 0, ""]]
async function run(params) {
  return new Map([[await save({}), 1]]);
}
