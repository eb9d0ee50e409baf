// Subclassed containers.
// expect: returned [[1, 2], {"a": 1}, [3], "1970-01-01T00:00:00.000Z"]
async function run(params) {
  return [new (class extends Array {})(1, 2), new (class extends Map {})([["a", 1]]), new (class extends Set {})([3]), new (class extends Date {})(0)];
}
