// Console inspect symbols.
// expect: returned 1
// prints: {a: 1}
async function run(params) {
  console.log({ a: 1, [Symbol("s")]: 2, toString() { throw 1; } } && { a: 1 });
  return 1;
}
