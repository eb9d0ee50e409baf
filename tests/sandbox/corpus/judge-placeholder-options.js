// So does one in the options.
// judge: true
// expect: returned 1
// refs: [["/options", 0, "/how"]]
async function run(params) {
  const made = await save({});
  return (await classify(["x"], ["a", "b"], made.how)).labels.length;
}
