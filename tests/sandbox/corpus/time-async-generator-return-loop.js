// Async generator return loop.
// expect: execution.timeout
async function run(params) {
  const g = (async function* () { try { yield 1; } finally { for (;;); } })();
  await g.next();
  await g.return();
}
