// It can be put into lists.
// expect: returned [null, 2]
// output_refs: [["/0", 0, ""]]
async function run(params) {
  const t = await save({});
  return [].concat(t, 2);
}
