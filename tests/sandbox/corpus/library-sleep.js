// Sleep.
// expect: execution.missing
// says: timers
async function run(params) {
  const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
  await sleep(10);
  return 1;
}
