// Error prototype.
// expect: execution.thrown
// says: real
async function run(params) {
  Error.prototype.message = "fake";
  Error.prototype.name = "Fake";
  Object.defineProperty(Error.prototype, "stack", { get() { throw 1; }, configurable: true });
  Error.prepareStackTrace = () => { throw 2; };
  throw new Error("real");
}
