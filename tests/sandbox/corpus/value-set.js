// Sets are arrays.
// expect: returned [1, "x"]
async function run(params) {
  return new Set([1, 1, "x"]);
}
