// As property key.
// expect: execution.placeholder
async function run(params) {
  const o = {};
  o[(await save({})).id] = 1;
  return o;
}
