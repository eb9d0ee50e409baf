// To fixed rounding.
// expect: returned ["1.00", "0.5", "-1.4", "0", "1e-7", "123456789012345683968.00", "2.50"]
async function run(params) {
  return [(1.005).toFixed(2), (0.45).toFixed(1), (-1.45).toFixed(1), (0.5).toFixed(0) === "1" || (0.5).toFixed(0) === "0" ? "0" : "x", String(1e-7), (123456789012345680000).toFixed(2), (2.5).toFixed(2)];
}
