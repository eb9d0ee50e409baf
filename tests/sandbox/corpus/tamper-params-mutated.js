// Params mutated.
// expect: returned {"a": 2, "b": 3}
// params: {"a": 1}
async function run(params) {
  params.a = 2;
  params.b = 3;
  return params;
}
