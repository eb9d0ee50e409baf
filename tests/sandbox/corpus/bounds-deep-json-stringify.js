// Deep json stringify.
// limits: {"execute_seconds_max": 0.5}
// expect: execution.stack | execution.timeout
async function run(params) {
  let o = null;
  for (let i = 0; i < 1e5; i++) o = { o };
  return JSON.stringify(o).length;
}
