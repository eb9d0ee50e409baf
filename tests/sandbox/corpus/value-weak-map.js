// What has no content cannot leave.
// expect: execution.value
// says: /cache
async function run(params) {
  return { cache: new WeakMap() };
}
