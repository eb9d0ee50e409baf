// Local time is UTC.
// expect: returned ["2026-01-01T00:00:00.000Z", 0, "2026-03-04T05:06:00.000Z"]
async function run(params) {
  return [new Date(2026, 0, 1).toISOString(), new Date().getTimezoneOffset(), new Date("2026-03-04T05:06").toISOString()];
}
