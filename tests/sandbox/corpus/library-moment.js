// Moment.
// expect: execution.missing
async function run(params) {
  return moment().format();
}
