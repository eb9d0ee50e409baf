// Function null argument.
// expect: returned null
// args: [null]
async function run(params) {
  return await echo(null);
}
