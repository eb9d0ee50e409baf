// String prototype tojson.
// expect: returned {"a": "x"}
async function run(params) {
  String.prototype.toJSON = () => "json";
  return { a: "x" };
}
