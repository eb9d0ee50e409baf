// Error errors length getter loop.
// expect: execution.timeout
async function run(params) {
  const e = new AggregateError([]);
  e.errors = { get length() { for (;;); } };
  throw e;
}
