// Symbol replace split.
// expect: returned {"a/b~c": "x~/"}
async function run(params) {
  String.prototype.replaceAll = String.prototype.replace = () => "evil";
  RegExp.prototype[Symbol.replace] = () => "evil";
  RegExp.prototype.exec = () => { throw new Error("evil"); };
  return await echo({ "a/b~c": "x~/" });
}
