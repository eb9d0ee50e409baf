// Proto of array null.
// expect: returned [1, {"a": 1}]
async function run(params) {
  return Object.setPrototypeOf([1, Object.setPrototypeOf({ a: 1 }, null)], null);
}
