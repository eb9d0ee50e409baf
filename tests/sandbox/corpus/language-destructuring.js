// Destructuring.
// expect: returned [1, 5, [3, 4], {"c": 3}, "d"]
async function run(params) {
  const { a, b = 5, ...rest } = { a: 1, c: 3 };
  const [x, , ...others] = [1, 2, 3, 4];
  const k = "d";
  const { [k]: v = "d" } = {};
  return [a, b, others, rest, v];
}
