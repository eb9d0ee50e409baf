// Arguments object.
// expect: returned {"0": 1, "1": 2}
async function run(params) {
  return (function () { return arguments; })(1, 2);
}
