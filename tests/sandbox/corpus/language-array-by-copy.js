// Array by copy.
// expect: returned [[3, 1, 2], [1, 2, 3], [2, 1, 3], [3, 9, 2], [3, 2], 2, 2]
async function run(params) {
  const a = [3, 1, 2];
  return [a, a.toSorted(), a.toReversed(), a.with(1, 9), a.toSpliced(1, 1), a.findLast((x) => x > 1), a.findLastIndex(() => true)];
}
