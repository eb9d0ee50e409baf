// Deeply nested arguments.
// expect: execution.stack
async function run(params) {
  let o = [];
  for (let i = 0; i < 20000; i++) o = [o];
  return echo({ o });
}
