// Date to locale string call.
// expect: execution.missing
async function run(params) {
  return Date.prototype.toLocaleString.call(new Date(), "de");
}
