// A string that doubles.
// expect: execution.memory
async function run(params) {
  let s = "ab";
  for (;;) s += s;
}
