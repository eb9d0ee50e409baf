// Error forged stack.
// expect: execution.thrown
async function run(params) {
  const e = new Error("m");
  e.stack = "    at x (<input>:99999999999999999999999:1)";
  throw e;
}
