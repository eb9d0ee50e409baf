// Errors are name and message.
// expect: returned {"name": "TypeError", "message": "bad"}
async function run(params) {
  return new TypeError("bad");
}
