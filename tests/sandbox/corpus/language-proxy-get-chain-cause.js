// Proxy get chain cause.
// expect: execution.thrown
async function run(params) {
  const e = new Error("x");
  Object.defineProperty(e, "cause", { get: () => ({ __proto__: e }) });
  throw e;
}
