// Atob bad.
// expect: execution.thrown
async function run(params) {
  return atob("***");
}
