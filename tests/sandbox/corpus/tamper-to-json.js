// A toJSON on the prototype of arrays is not asked about the bridge.
// expect: returned {"a": 1}
async function run(params) {
  Array.prototype.toJSON = () => "evil";
  return echo({ a: 1 });
}
