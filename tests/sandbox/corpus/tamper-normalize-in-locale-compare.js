// Normalize in locale compare.
// expect: returned -1
async function run(params) {
  String.prototype.normalize = String.prototype.toLowerCase = () => { throw new Error("no"); };
  return "é".localeCompare("f");
}
