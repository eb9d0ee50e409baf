// A proxy that is no more.
// expect: execution.thrown
// says: revoked
async function run(params) {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  console.log(proxy, [proxy]);
  return proxy;
}
