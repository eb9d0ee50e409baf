// Console error cause.
// expect: returned 1
// prints: bad
async function run(params) {
  console.error(new Error("bad", { cause: new Error("inner") }));
  return 1;
}
