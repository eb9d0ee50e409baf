// Boxed values are the values.
// expect: returned [1, "x", true, "5"]
async function run(params) {
  return [Object(1), Object("x"), Object(true), Object(5n)];
}
