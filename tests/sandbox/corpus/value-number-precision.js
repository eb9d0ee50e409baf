// Number precision.
// expect: returned [0.1, 1e-10, 123.456, 3.3333333333333335, 100]
async function run(params) {
  return [0.1, 1e-10, 123.456, 10 / 3, 1e2];
}
