// Date to locale date options.
// expect: execution.missing
async function run(params) {
  return new Date().toLocaleDateString("en-US", { month: "short", day: "numeric", timeZone: "UTC" });
}
