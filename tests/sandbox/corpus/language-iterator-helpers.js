// Iterator helpers.
// expect: returned [[2, 4], [1, 2, 3]]
async function run(params) {
  return [[1, 2, 3].values().map((x) => x * 2).take(2).toArray(), Iterator.from(new Set([1, 2, 3])).toArray()];
}
