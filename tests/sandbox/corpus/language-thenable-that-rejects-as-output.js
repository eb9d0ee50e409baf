// Thenable that rejects as output.
// expect: execution.thrown
// says: from then
async function run(params) {
  return { then(_, reject) { reject(new RangeError("from then")); } };
}
