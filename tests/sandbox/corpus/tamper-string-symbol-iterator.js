// String symbol iterator.
// expect: returned "ab"
async function run(params) {
  String.prototype[Symbol.iterator] = function* () { yield "evil"; };
  return "ab";
}
