// Date invalid to iso.
// expect: execution.thrown
async function run(params) {
  return new Date("31/12/2025").toISOString();
}
