// Date diff days.
// expect: returned 30
async function run(params) {
  return Math.round((new Date("2026-03-31T00:00:00+02:00") - new Date("2026-03-01T00:00:00+02:00")) / 864e5);
}
