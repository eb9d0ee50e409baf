// A BigInt.
// expect: returned null
// prints: 1n
async function run(params) {
  console.log(1n);
  return null;
}
