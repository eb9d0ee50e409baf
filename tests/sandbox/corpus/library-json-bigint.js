// Json bigint.
// expect: execution.thrown
async function run(params) {
  return JSON.stringify({ id: 1n });
}
