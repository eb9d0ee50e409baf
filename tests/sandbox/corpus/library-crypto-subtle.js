// Crypto subtle.
// expect: execution.missing
async function run(params) {
  return await crypto.subtle.digest("SHA-256", new Uint8Array());
}
