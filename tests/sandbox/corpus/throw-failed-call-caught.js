// A caught failure is not to blame for the next error.
// expect: execution.thrown
// says: mine
async function run(params) {
  try {
    await fail({});
  } catch (e) {
    throw new TypeError("mine");
  }
}
