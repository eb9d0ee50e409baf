// What a callback of `map` gets crosses as it is, for the worker to refuse.
// judge: true
// expect: returned 2
// args: [{"texts": "x", "labels": 0, "options": ["x", "y"]}, {"texts": "y", "labels": 1, "options": ["x", "y"]}]
async function run(params) {
  return (await Promise.all(["x", "y"].map(classify))).length;
}
