// Printing without end is cut, and stops nothing.
// expect: execution.timeout
// truncated: true
async function run(params) {
  for (;;) console.log("x");
}
