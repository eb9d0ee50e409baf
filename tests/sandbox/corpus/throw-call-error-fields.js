// What a program sees of a call that was refused.
// expect: returned ["CallError", "amount: expected integer", "validation.arguments"]
async function run(params) {
  try {
    await refuse({});
  } catch (e) {
    return [e.name, e.message, e.code];
  }
}
