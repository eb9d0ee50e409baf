// Throw in message.
// expect: execution.placeholder
async function run(params) {
  throw new Error("made " + (await save({})).id);
}
