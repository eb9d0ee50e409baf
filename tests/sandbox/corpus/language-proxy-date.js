// Proxy date.
// expect: returned {}
async function run(params) {
  return new Proxy(new Date(0), { get: () => undefined });
}
