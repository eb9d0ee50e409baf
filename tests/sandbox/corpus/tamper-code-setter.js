// Errors of calls are built without the setters of a program.
// expect: returned ["function.failed", 0]
async function run(params) {
  let seen = 0;
  Object.defineProperty(Error.prototype, "code", { set() { seen++; } });
  try {
    await fail({});
  } catch (e) {
    return [e.code, seen];
  }
}
