// An integer that squares itself.
// expect: execution.memory
async function run(params) {
  let x = 3n;
  for (;;) x *= x;
}
