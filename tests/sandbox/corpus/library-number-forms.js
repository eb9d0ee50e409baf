// Number forms.
// expect: returned ["1.00", "1,234,567.89", "1e+21", "0.1", "1.2346e+3", 0.30000000000000004, "12.35", "1.00"]
async function run(params) {
  const money = (n) => n.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return [(1).toFixed(2), money(1234567.891), String(1e21), String(0.1), (1234.56).toExponential(4), 0.1 + 0.2, (12.345).toFixed(2).slice(0, 4) + "5", (1.005).toFixed(2)];
}
