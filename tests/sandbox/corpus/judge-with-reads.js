// Questions of one tick go over together with the reads of it.
// judge: true
// expect: returned [1, {"n": 1}]
// ran: 2
async function run(params) {
  const [found, read] = await Promise.all([classify(["x"], ["a", "b"]), echo({ n: 1 })]);
  return [found.labels.length, read];
}
