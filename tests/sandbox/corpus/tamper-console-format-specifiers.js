// Console format specifiers.
// expect: returned 1
// prints: %s is %d x 5
async function run(params) {
  console.log("%s is %d", "x", 5);
  return 1;
}
