// Spread reasonable.
// expect: returned 9999
async function run(params) {
  return Math.max(...Array.from({ length: 10000 }, (_, i) => i));
}
