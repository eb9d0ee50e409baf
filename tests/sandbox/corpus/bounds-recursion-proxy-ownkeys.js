// Recursion proxy ownkeys.
// expect: execution.stack
async function run(params) {
  const p = new Proxy({}, { ownKeys: () => Reflect.ownKeys(p) });
  return p;
}
