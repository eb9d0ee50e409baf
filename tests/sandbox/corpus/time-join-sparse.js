// Join sparse.
// limits: {"execute_seconds_max": 0.5}
// expect: execution.timeout | execution.memory
async function run(params) {
  return [].join.call({ length: 2 ** 31 }, "");
}
