// Sort bad comparator.
// expect: returned 1000
async function run(params) {
  return Array.from({ length: 1000 }, (_, i) => i).sort(() => Math.random() - 0.5).length;
}
