// A comparison that never returns.
// expect: execution.timeout
async function run(params) {
  return Array.from({ length: 1e5 }, (_, i) => (i * 7919) % 1e6).sort(() => { for (;;); });
}
