// toJSON is called.
// expect: returned {"a": "a!"}
async function run(params) {
  return { a: { toJSON: (key) => key + "!" } };
}
