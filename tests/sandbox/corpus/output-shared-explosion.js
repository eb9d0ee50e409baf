// A small graph that is endless as a tree.
// expect: execution.output_too_large
// limits: {"execute_seconds_max": 10}
async function run(params) {
  let o = { a: 1 };
  for (let i = 0; i < 60; i++) o = [o, o];
  return o;
}
