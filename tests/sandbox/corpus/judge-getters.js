// Getters are read once, at the call.
// judge: true
// expect: returned [1, 1]
// args: [{"texts": ["t1"], "labels": ["a", "b"], "options": {"instructions": "i1"}}]
async function run(params) {
  let texts = 0, options = 0;
  const list = [];
  Object.defineProperty(list, 0, { get: () => "t" + ++texts, enumerable: true });
  await classify(list, ["a", "b"], { get instructions() { return "i" + ++options; } });
  return [texts, options];
}
