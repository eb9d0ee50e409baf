// Url search params.
// expect: execution.missing
async function run(params) {
  return new URLSearchParams({ a: 1 }).toString();
}
