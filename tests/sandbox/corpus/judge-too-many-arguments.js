// A callback of `map` gets element, index and array, and more than those are too many.
// judge: true
// expect: execution.thrown
// says: `classify` takes (texts, labels, options)
// ran: 0
async function run(params) {
  return await classify(["x"], ["a", "b"], {}, 4);
}
