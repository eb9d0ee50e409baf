// Delete key order.
// expect: returned {"b": 1}
// output_refs: [["/a", 0, ""]]
async function run(params) {
  return { a: await save({}), b: 1 };
}
