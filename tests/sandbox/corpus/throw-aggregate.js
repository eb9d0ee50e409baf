// The failed call is found in a group.
// expect: execution.thrown
// call: 0
async function run(params) {
  return Promise.any([fail({}), fail({})]);
}
