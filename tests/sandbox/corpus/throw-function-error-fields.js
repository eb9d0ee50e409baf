// What a program sees of a failed call.
// expect: returned ["FunctionError", "no such customer", "function.failed", true]
async function run(params) {
  try {
    await fail({});
  } catch (e) {
    return [e.name, e.message, e.code, e instanceof Error];
  }
}
