// Function array argument.
// expect: returned [1]
// args: [[1]]
async function run(params) {
  return await echo([1]);
}
