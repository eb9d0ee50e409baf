// Array shrinks while encoded.
// expect: returned [1, null, null]
async function run(params) {
  const a = [0, 2, 3];
  Object.defineProperty(a, 0, { get() { a.length = 1; return 1; } });
  return a;
}
