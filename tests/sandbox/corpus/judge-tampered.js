// Changed prototypes change no question.
// judge: true
// expect: returned 1
// args: [{"texts": ["x"], "labels": ["a", "b"]}]
async function run(params) {
  Object.defineProperty(Object.prototype, "texts", { set() { throw new Error("met"); }, configurable: true });
  Object.defineProperty(Object.prototype, "options", { get: () => ({ instructions: "forged" }), configurable: true });
  Array.prototype.toJSON = () => ["forged"];
  const asked = classify(["x"], ["a", "b"]);
  delete Object.prototype.options;
  return (await asked).labels.length;
}
