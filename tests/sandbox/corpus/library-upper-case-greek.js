// Upper case greek.
// expect: execution.missing
async function run(params) {
  return "ά".toLocaleUpperCase("el");
}
