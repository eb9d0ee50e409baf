// Recursion through a proxy.
// expect: execution.stack
async function run(params) {
  const p = new Proxy({}, { get: (target, key, receiver) => receiver[key] });
  return p.a;
}
