// A function that returns NaN has failed.
// expect: execution.thrown
// call: 0
// says: JSON
async function run(params) {
  return nan({});
}
