// Lodash.
// expect: execution.missing
async function run(params) {
  return _.groupBy([1], (x) => x);
}
