// Bind call apply.
// expect: returned {"a": 1}
async function run(params) {
  Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw new Error("no"); };
  return await echo({ a: 1 });
}
