// Map nested.
// expect: returned {"a": {"b": [["k", 1], [2, "v"]]}}
async function run(params) {
  return new Map([["a", new Map([["b", new Map([["k", 1], [2, "v"]])]])]]);
}
