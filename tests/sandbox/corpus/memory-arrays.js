// Many arrays.
// expect: execution.memory
async function run(params) {
  const a = [];
  for (;;) a.push(Array(1e5).fill(1));
}
