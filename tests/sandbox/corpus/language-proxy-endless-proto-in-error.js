// Proxy endless proto in error.
// expect: execution.thrown
async function run(params) {
  const p = new Proxy({}, { getPrototypeOf: () => p, get: () => p });
  throw p;
}
