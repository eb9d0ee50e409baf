// Bigint to locale.
// expect: execution.missing
async function run(params) {
  return 10n.toLocaleString("en");
}
