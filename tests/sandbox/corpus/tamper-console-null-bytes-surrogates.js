// Console null bytes surrogates.
// expect: returned 1
// prints: �x
async function run(params) {
  console.log("\udc00x");
  return 1;
}
