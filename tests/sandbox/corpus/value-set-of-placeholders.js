// Set of placeholders.
// expect: returned [null, null]
// output_refs: [["/0", 0, ""], ["/1", 0, "/id"]]
async function run(params) {
  const t = await save({});
  return new Set([t, t.id]);
}
