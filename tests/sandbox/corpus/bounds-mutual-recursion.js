// Mutual recursion.
// expect: execution.stack
async function run(params) {
  const even = (n) => (n === 0 ? true : odd(n - 1));
  const odd = (n) => (n === 0 ? false : even(n - 1));
  return even(1e6);
}
