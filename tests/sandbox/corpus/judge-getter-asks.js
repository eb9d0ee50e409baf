// A getter that asks the judge itself.
// judge: true
// expect: returned ["inner", "outer"]
async function run(params) {
  const order = [];
  const inner = { get instructions() { order.push("inner"); ai("i", 1, { type: "number" }).catch(() => {}); return "i"; } };
  await classify(["x"], ["a", "b"], inner);
  order.push("outer");
  return order;
}
