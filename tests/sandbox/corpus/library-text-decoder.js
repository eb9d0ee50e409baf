// Text decoder.
// expect: execution.missing
async function run(params) {
  return new TextDecoder().decode(new Uint8Array([65]));
}
