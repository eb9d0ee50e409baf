// Weak ref.
// expect: execution.missing
async function run(params) {
  return new WeakRef({}).deref();
}
