// Negative zero nested.
// expect: returned {"a": [0], "b": "0"}
async function run(params) {
  return { a: [-0], b: String(-0) };
}
