// The same for includes.
// expect: execution.timeout
async function run(params) {
  return [].includes.call({ length: 2 ** 53 - 1 }, 1);
}
