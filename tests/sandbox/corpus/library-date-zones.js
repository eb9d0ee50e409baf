// Date zones.
// expect: returned ["2026-01-01T22:00:00.000Z", "2026-01-02T05:00:00.000Z", "2026-01-02T00:00:00.000Z"]
async function run(params) {
  return ["2026-01-02T00:00:00+02:00", "2026-01-02T00:00:00-05:00", "2026-01-02"].map((s) => new Date(s).toISOString());
}
