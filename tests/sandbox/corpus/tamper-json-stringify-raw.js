// Json stringify raw.
// expect: returned {"a": "x"}
async function run(params) {
  JSON.stringify = () => '"evil"';
  return { a: "x" };
}
