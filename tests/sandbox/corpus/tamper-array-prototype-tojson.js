// Array prototype tojson.
// expect: returned {"a": [1]}
async function run(params) {
  Array.prototype.toJSON = () => "json";
  return { a: [1] };
}
