// Proxies.
// expect: execution.memory
// limits: {"execute_seconds_max": 10}
async function run(params) {
  let p = {};
  for (;;) p = new Proxy(p, {});
}
