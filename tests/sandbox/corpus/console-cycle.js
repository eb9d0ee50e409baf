// A cycle.
// expect: returned null
// prints: [cycle]
async function run(params) {
  const a = {};
  a.a = a;
  console.log(a);
  return null;
}
