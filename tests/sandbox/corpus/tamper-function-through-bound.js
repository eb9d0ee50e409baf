// Function through bound.
// expect: execution.missing
async function run(params) {
  return echo.constructor("return 1")();
}
