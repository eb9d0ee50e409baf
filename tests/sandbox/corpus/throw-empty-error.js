// An error without message.
// expect: execution.thrown
// at: 5:13
async function run(params) {
  throw new Error("");
}
