// Console map.
// expect: returned 1
// prints: default: 2
async function run(params) {
  Map.prototype.get = Map.prototype.set = () => { throw 1; };
  console.count();
  console.count();
  return 1;
}
