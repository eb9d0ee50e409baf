// Cause failed call.
// expect: execution.thrown
// call: 0
// says: wrapped
async function run(params) {
  try { await fail({}); } catch (e) { throw new Error("wrapped", { cause: e }); }
}
