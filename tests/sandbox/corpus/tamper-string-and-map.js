// Broken text and map methods do not either.
// expect: returned {"text": "�", "m": {"k": 1}}
async function run(params) {
  String.prototype.toWellFormed = () => "evil";
  Map.prototype.forEach = WeakMap.prototype.get = () => { throw 1; };
  String.prototype.charCodeAt = () => { throw 1; };
  return { text: "\ud800", m: new Map([["k", 1]]) };
}
