async function run(params) {
  const orders = await list_orders();
  return await Promise.all(orders.map((order) => get_order({ order_id: order.id })));
}
