// Object prototype tojson.
// expect: returned "json"
async function run(params) {
  Object.prototype.toJSON = () => "json";
  return { a: 1 };
}
