// Take of a helper.
// expect: returned [2, 4]
async function run(params) {
  return [1, 2, 3].values().map((x) => x * 2).take(2).toArray();
}
