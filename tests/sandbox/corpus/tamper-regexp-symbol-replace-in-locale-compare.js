// Regexp symbol replace in locale compare.
// expect: returned -1
async function run(params) {
  RegExp.prototype[Symbol.replace] = () => "same";
  Object.defineProperty(RegExp.prototype, "flags", { get() { throw new Error("flags"); } });
  return "é".localeCompare("f");
}
