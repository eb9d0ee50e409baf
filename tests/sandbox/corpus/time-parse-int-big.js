// Parse int big.
// expect: returned null
// warns: Infinity
async function run(params) {
  return Number("9".repeat(1e5));
}
