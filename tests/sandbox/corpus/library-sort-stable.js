// Sort stable.
// expect: returned "abcdef"
async function run(params) {
  return [["a", 1], ["b", 1], ["c", 1], ["d", 2], ["e", 2], ["f", 2]].sort((x, y) => x[1] - y[1]).map((x) => x[0]).join("");
}
