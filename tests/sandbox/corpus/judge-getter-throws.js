// A getter that throws makes no call.
// judge: true
// expect: returned "own"
// ran: 0
async function run(params) {
  try {
    await classify(["x"], ["a", "b"], { get instructions() { throw new Error("own"); } });
  } catch (error) {
    return error.message;
  }
}
