// Odd property names.
// expect: returned [null, null, null, null]
// output_refs: [["/0", 0, "/a~1b"], ["/1", 0, "/"], ["/2", 0, "/~0"], ["/3", 0, "/\ufffd"]]
async function run(params) {
  const t = await save({});
  return [t["a/b"], t[""], t["~"], t["\ud800"]];
}
