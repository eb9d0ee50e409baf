// Set prototype of promise.
// expect: execution.thrown
async function run(params) {
  const p = echo({});
  Object.setPrototypeOf(p, null);
  return await p.then((x) => x);
}
