// Set methods.
// expect: returned [[1, 2, 3], [2], [1], [1, 3], true]
async function run(params) {
  const a = new Set([1, 2]), b = new Set([2, 3]);
  return [a.union(b), a.intersection(b), a.difference(b), a.symmetricDifference(b), new Set([1]).isSubsetOf(a)];
}
