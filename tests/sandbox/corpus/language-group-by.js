// Group by.
// expect: returned [{"a": [1, 3], "b": [2]}, [["odd", [1, 3]], ["even", [2]]]]
async function run(params) {
  return [Object.groupBy([1, 2, 3], (n) => (n % 2 ? "a" : "b")), [...Map.groupBy([1, 2, 3], (n) => (n % 2 ? "odd" : "even"))]];
}
