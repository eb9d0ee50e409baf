// One long line is cut.
// expect: returned null
// truncated: true
// prints: xxx
async function run(params) {
  console.log("x".repeat(1e6));
  return null;
}
