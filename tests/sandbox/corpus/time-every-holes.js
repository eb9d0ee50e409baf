// Every holes.
// expect: execution.timeout
async function run(params) {
  return [].every.call({ length: 2 ** 53 - 1 }, () => true);
}
