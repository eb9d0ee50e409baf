// To well formed.
// expect: returned "\ufffd"
async function run(params) {
  String.prototype.toWellFormed = () => "evil";
  return "\ud800";
}
