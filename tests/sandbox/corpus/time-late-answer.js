// A function that answers after the deadline: the answer is ignored.
// expect: execution.timeout
async function run(params) {
  await slow({ seconds: 0.65 });
  return 1;
}
