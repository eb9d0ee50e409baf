// No mark of another program is left.
// expect: returned [false, "undefined", "function"]
async function run(params) {
  return ["x" in {}, typeof y, typeof [].map];
}
