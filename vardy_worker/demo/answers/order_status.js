async function run(params) {
  const order = await get_order({ order_id: {{order}} });
  return { order_id: order.id, status: order.status, placed_on: order.placed_on, total_cents: order.total_cents };
}
