// Date to locale time.
// expect: execution.missing
// says: toISOString
async function run(params) {
  return new Date().toLocaleTimeString();
}
