// Broken call, apply and bind do not reach the bridge.
// expect: returned {"a": 1}
async function run(params) {
  Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => {
    throw 1;
  };
  return echo({ a: 1 });
}
