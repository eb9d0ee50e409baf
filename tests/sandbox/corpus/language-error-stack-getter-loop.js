// Error stack getter loop.
// expect: execution.timeout
async function run(params) {
  const e = new Error("m");
  Object.defineProperty(e, "stack", { get() { for (;;); } });
  throw e;
}
