// Console wide.
// expect: returned 1
async function run(params) {
  console.log(Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => ["k" + i, i])));
  return 1;
}
