// Promise all.
// expect: returned [null, null]
// output_refs: [["/0", 0, "/id"], ["/1", 1, "/id"]]
async function run(params) {
  return (await Promise.all([save({}), save({})])).map((t) => t.id);
}
