// Holes, null and undefined cross as null.
// judge: true
// expect: returned 4
// args: [{"texts": [null, null, null, "x"], "labels": ["a", "b"]}]
async function run(params) {
  return (await classify([, null, undefined, "x"], ["a", "b"])).labels.length;
}
