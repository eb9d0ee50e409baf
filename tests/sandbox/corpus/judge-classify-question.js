// A yes/no question with instructions.
// judge: true
// expect: returned ["yes"]
// args: [{"texts": ["x"], "labels": "Is it late?", "options": {"instructions": "Be strict."}}]
async function run(params) {
  const { labels } = await classify(["x"], "Is it late?", { instructions: "Be strict." });
  return labels;
}
