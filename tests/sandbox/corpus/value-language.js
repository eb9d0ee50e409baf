// The language is a recent one.
// expect: returned [[1, 2, 3], {"odd": [1, 3], "even": [2]}, 2, "a+b", "eA==", 2]
async function run(params) {
  return [[3, 1, 2].toSorted(), Object.groupBy([1, 2, 3], (x) => (x % 2 ? "odd" : "even")), [1, 2].at(-1), "a-b".replaceAll("-", "+"), btoa("x"), [..."añ"].length];
}
