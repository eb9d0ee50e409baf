// Sort default.
// expect: returned [[1, 10, 2], ["B", "a", "é"], [1, 2, null]]
async function run(params) {
  return [[10, 2, 1].sort(), ["é", "a", "B"].sort(), [2, undefined, 1].sort()];
}
