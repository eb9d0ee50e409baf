// Promise resolve static.
// expect: returned [{"a": 1}]
async function run(params) {
  Promise.resolve = () => { throw new Error("no"); };
  return [await echo({ a: 1 })];
}
