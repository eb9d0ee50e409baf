// For in proxy.
// expect: execution.timeout
async function run(params) {
  for (const k in new Proxy({}, { ownKeys() { for (;;); } }));
  return 1;
}
