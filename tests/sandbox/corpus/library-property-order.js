// Property order.
// expect: returned ["1", "2", "b", "a", "sym"]
async function run(params) {
  const o = { b: 1, 2: 1, a: 1, 1: 1, sym: 1 };
  return Object.keys(o);
}
