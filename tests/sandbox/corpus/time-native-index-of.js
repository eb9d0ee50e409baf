// A loop in native code, over a length that a program made up.
// expect: execution.timeout
async function run(params) {
  return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);
}
