// Object to locale.
// expect: execution.missing
async function run(params) {
  return ({}).toLocaleString();
}
