// A function that answers after the deadline: the answer is ignored.
// expect: execution.timeout
async function run(params) {
  await slow({ seconds: 1.05 });
  return 1;
}
