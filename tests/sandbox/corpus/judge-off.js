// The judge is off.
// expect: execution.missing
// says: `classify` does not exist here: The judge is off in this job.
// at: 6:9
async function run(params) {
  await classify(["x"], ["a", "b"]);
}
