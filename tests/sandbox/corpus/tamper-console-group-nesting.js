// Console group nesting.
// expect: returned 1
async function run(params) {
  for (let i = 0; i < 1e5; i++) console.group();
  console.log("x");
  for (let i = 0; i < 2e5; i++) console.groupEnd();
  console.log("y");
  return 1;
}
