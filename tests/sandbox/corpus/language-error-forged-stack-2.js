// Error forged stack 2.
// expect: execution.thrown
async function run(params) {
  const e = new Error("m");
  e.stack = "<input>:".repeat(10) + "9".repeat(400);
  throw e;
}
