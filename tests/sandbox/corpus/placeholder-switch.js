// Switch.
// expect: returned "other"
async function run(params) {
  switch ((await save({})).state) { case "open": return "open"; default: return "other"; }
}
