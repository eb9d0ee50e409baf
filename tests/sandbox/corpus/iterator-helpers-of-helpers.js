// Helpers of helpers.
// expect: returned [2]
async function run(params) {
  return [2, 4, 5].values().drop(1).take(1).map((x) => x / 2).toArray();
}
