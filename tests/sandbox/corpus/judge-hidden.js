// They are as hidden as functions are.
// judge: true
// expect: returned [[], "classify", "ai", "function", true]
async function run(params) {
  const seen = Object.keys(globalThis).filter((name) => name === "ai" || name === "classify");
  return [seen, classify.name, ai.name, typeof classify, !Function.prototype.toString.call(ai).includes("call(")];
}
