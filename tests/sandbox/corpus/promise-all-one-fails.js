// The siblings of a failed call are settled too.
// expect: execution.thrown
// call: 1
// says: no such customer
async function run(params) {
  return Promise.all([echo({ a: 1 }), fail({}), echo({ a: 2 })]);
}
