// Crypto.
// expect: execution.missing
async function run(params) {
  return crypto.randomUUID();
}
