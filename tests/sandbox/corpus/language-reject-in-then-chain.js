// Reject in then chain.
// expect: execution.thrown
// call: 0
async function run(params) {
  return echo2().then((x) => x);
  async function echo2() { return fail({}); }
}
