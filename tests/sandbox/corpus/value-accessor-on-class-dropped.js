// Accessor on class dropped.
// expect: returned {"x": 1}
async function run(params) {
  return new (class { x = 1; get y() { return 2; } })();
}
