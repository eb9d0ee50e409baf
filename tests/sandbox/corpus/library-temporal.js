// Temporal.
// expect: execution.missing
async function run(params) {
  return Temporal.Now.plainDateISO().toString();
}
