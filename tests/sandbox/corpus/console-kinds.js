// Everything can be printed.
// expect: returned null
// prints: é 😀 �
async function run(params) {
  console.log("a", 1, 1n, -0, null, undefined, true);
  console.info({ a: [1, { b: "x" }], d: new Date(0), m: new Map([[1, 2]]), s: new Set([1]), r: /x/ });
  console.warn(Symbol("s"), () => 1, new Error("bad"));
  console.error("é 😀 \ud800");
  console.table([1]);
  console.assert(false, "no");
  console.count();
  console.group("g");
  console.debug("in");
  console.groupEnd();
  return null;
}
