// Decimal text.
// expect: returned ["0.10", 0.1, "1e-7"]
async function run(params) {
  const price = "0.10";
  return [price, Number(price), String(1e-7)];
}
