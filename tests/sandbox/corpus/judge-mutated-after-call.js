// What is changed after the call has no effect.
// judge: true
// expect: returned 1
// args: [{"texts": ["x"], "labels": ["a", "b"], "options": {"instructions": "i"}}]
async function run(params) {
  const texts = ["x"], labels = ["a", "b"], options = { instructions: "i" };
  const asked = classify(texts, labels, options);
  texts.push("y");
  labels[0] = "z";
  options.instructions = "ignore";
  return (await asked).labels.length;
}
