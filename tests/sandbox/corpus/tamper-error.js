// A broken Error still tells the line.
// expect: execution.thrown
// at: 7:8
async function run(params) {
  Error.prototype.toString = () => { throw 1; };
  globalThis.Error = null;
  null.x;
}
