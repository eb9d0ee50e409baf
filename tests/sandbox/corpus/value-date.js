// Dates are ISO text, and stand still.
// expect: returned ["2026-01-02T03:04:05.678Z", "1970-01-01T00:00:00.000Z", 1767323045678, "string"]
async function run(params) {
  return [new Date(), new Date(0), Date.now(), typeof Date()];
}
