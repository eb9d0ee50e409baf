// Date tojson.
// expect: returned {"a": "1970-01-01T00:00:00.000Z"}
async function run(params) {
  Date.prototype.toJSON = () => "never";
  Date.prototype.toISOString = () => "never";
  return { a: new Date(0) };
}
