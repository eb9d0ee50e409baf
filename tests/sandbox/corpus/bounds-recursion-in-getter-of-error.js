// Recursion in getter of error.
// expect: execution.stack
async function run(params) {
  const e = new Error("x");
  Object.defineProperty(e, "message", { get() { return this.message; } });
  throw e;
}
