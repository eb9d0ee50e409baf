// The error of a failed call itself.
// expect: execution.thrown
// call: 0
// at: 7:10
// says: no such customer
async function run(params) {
  return fail({});
}
