// Decimals tiny huge.
// expect: returned [5e-324, 1.7976931348623157e+308, 1e-7, 123456.789, 0]
async function run(params) {
  return [5e-324, Number.MAX_VALUE, 0.0000001, 123456.789, -0];
}
