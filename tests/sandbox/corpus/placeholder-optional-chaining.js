// Optional chaining.
// expect: returned null
// output_refs: [["", 0, "/a/b"]]
async function run(params) {
  return (await save({}))?.a?.b;
}
