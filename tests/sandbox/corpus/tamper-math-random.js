// Math random.
// expect: returned 0.5
async function run(params) {
  Math.random = () => 0.5;
  return Math.random();
}
