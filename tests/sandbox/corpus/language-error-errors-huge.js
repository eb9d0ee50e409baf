// Error errors huge.
// expect: execution.thrown
async function run(params) {
  const e = new AggregateError([]);
  Object.defineProperty(e, "errors", { value: { length: 2 ** 53 } });
  throw e;
}
