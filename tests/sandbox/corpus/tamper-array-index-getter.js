// Array index getter.
// expect: returned [7, 2]
async function run(params) {
  const a = [1, 2];
  Object.defineProperty(a, 0, { get: () => 7 });
  return a;
}
