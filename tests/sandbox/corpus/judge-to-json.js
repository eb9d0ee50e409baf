// A text with toJSON is what that returns.
// judge: true
// expect: returned 1
// args: [{"texts": ["made"], "labels": ["a", "b"]}]
async function run(params) {
  return (await classify([{ toJSON: () => "made" }], ["a", "b"])).labels.length;
}
