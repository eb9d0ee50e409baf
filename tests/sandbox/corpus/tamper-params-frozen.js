// Params frozen.
// expect: returned {"a": 1}
// params: {"a": 1}
async function run(params) {
  Object.freeze(params);
  return params;
}
