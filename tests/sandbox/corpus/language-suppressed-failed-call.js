// Suppressed failed call.
// expect: execution.thrown
// call: 0
async function run(params) {
  try { await fail({}); } catch (e) { throw new SuppressedError(e, new Error("b"), "both"); }
}
