// Params length.
// expect: returned [3, "b"]
// params: {"length": 3, "1": "b"}
async function run(params) {
  return [params.length, params[1]];
}
