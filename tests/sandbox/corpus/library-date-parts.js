// Date parts.
// expect: returned [2026, 1, 29, "2026-03-01T00:00:00.000Z", 4, "2025-12-31T00:00:00.000Z"]
async function run(params) {
  const d = new Date("2026-01-29");
  const e = new Date(d);
  e.setMonth(1);
  const f = new Date(2026, 0, 1);
  f.setDate(0);
  return [d.getFullYear(), d.getMonth() + 1, d.getDate(), e.toISOString(), d.getDay(), f.toISOString()];
}
