// Find last.
// expect: execution.timeout
async function run(params) {
  return [].findLast.call({ length: 2 ** 50 }, () => false);
}
