// Intl members.
// expect: execution.missing
async function run(params) {
  return new Intl.DateTimeFormat("en-US", { timeZone: "America/New_York" }).format(new Date());
}
