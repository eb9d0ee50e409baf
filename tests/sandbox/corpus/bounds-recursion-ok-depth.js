// Recursion ok depth.
// expect: returned 2000
async function run(params) {
  const f = (n) => (n === 0 ? 0 : 1 + f(n - 1));
  return f(2000);
}
