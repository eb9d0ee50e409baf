// Used in read.
// expect: returned {}
// refs: [["/t", 0, "/id"]]
async function run(params) {
  return await echo({ t: (await save({})).id });
}
