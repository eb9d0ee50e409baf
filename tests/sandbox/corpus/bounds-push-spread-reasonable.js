// Push spread reasonable.
// expect: returned 20000
async function run(params) {
  const a = [];
  a.push(...Array(20000).fill(1));
  return a.length;
}
