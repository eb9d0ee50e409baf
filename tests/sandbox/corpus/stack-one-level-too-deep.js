// One level more than the 128 that a value may have.
// expect: execution.stack
async function run(params) {
  let value = [];
  for (let level = 1; level < 129; level++) value = [value];
  return value;
}
