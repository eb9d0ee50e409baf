// Function string argument.
// expect: returned "x"
// args: ["x"]
async function run(params) {
  return await echo("x");
}
