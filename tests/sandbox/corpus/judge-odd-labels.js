// Labels that are names of prototypes are counted like others, and pollute nothing.
// judge: true
// expect: returned [["__proto__", "constructor", "toString", "unknown"], 2, 0, 0, null, true]
async function run(params) {
  const { counts } = await classify(["x", "y"], ["__proto__", "constructor", "toString"]);
  const own = (name) => Object.getOwnPropertyDescriptor(counts, name).value;
  return [Object.keys(counts), own("__proto__"), own("constructor"), own("toString"), {}["y"] ?? null, Object.getPrototypeOf(counts) === Object.prototype];
}
