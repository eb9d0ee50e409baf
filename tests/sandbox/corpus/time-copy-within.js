// Copy within.
// expect: execution.timeout
async function run(params) {
  return [].copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1);
}
