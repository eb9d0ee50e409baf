// Printing a proxy that never answers.
// expect: execution.timeout
async function run(params) {
  console.log(new Proxy({}, { ownKeys() { for (;;); } }));
  return 1;
}
