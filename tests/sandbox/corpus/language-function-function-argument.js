// Function function argument.
// expect: returned null
// warns: function
async function run(params) {
  return await echo(() => 1);
}
