// Array grows while encoded.
// expect: returned [1]
async function run(params) {
  const a = [0];
  Object.defineProperty(a, 0, { get() { a.push(9); return 1; } });
  return a;
}
