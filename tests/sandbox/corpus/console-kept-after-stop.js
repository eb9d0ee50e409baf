// What was printed before the end is kept.
// expect: execution.timeout
// prints: before
async function run(params) {
  console.log("before");
  for (;;);
}
