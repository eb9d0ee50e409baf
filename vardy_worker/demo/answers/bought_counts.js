async function run(params) {
  const orders = (await list_orders()).filter((order) => order.status !== "cancelled");
  const details = await Promise.all(orders.map((order) => get_order({ order_id: order.id })));
  const products = new Map();
  for (const { product, quantity, unit_price_cents } of details.flatMap((order) => order.lines)) {
    const one = products.get(product) ?? { product, pieces: 0, cents: 0 };
    products.set(product, { ...one, pieces: one.pieces + quantity, cents: one.cents + quantity * unit_price_cents });
  }
  const ranked = [...products.values()].sort((a, b) => b.cents - a.cents);
  return { orders: details.length, cents: ranked.reduce((sum, one) => sum + one.cents, 0), products: ranked };
}
