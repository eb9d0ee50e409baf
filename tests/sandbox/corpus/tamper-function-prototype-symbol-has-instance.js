// Function prototype symbol has instance.
// expect: returned {"a": 1}
async function run(params) {
  Object.setPrototypeOf(Function.prototype, null);
  return await echo({ a: 1 });
}
