// Params with then.
// expect: returned {"then": "x", "toJSON": 1, "constructor": null}
// params: {"then": "x", "toJSON": 1, "constructor": null}
async function run(params) {
  return params;
}
