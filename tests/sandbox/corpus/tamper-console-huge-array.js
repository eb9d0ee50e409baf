// Console huge array.
// expect: returned 1
async function run(params) {
  console.log(Array(1e6).fill("x".repeat(100)));
  return 1;
}
