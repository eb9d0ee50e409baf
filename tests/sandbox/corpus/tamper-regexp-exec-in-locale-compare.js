// Regexp exec in locale compare.
// expect: returned [-1, 0]
// prints: []
async function run(params) {
  const seen = [];
  const exec = RegExp.prototype.exec;
  RegExp.prototype.exec = function (s) { seen.push([this.source, s]); return exec.call(this, s); };
  const out = ["é".localeCompare("f"), "a".localeCompare("a")];
  console.log(seen);
  return out;
}
