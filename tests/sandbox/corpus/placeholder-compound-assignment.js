// Compound assignment.
// expect: execution.placeholder
async function run(params) {
  let sum = 0;
  sum += (await save({})).amount;
  return sum;
}
