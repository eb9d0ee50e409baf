// Sharing is no cycle.
// expect: returned [{"x": 1}, {"x": 1}]
async function run(params) {
  return (() => {
    const a = { x: 1 };
    return [a, a];
  })();
}
