async function run(params) {
  const order = await get_order({ order_id: {{order}} });
  const ticket = await create_ticket({
    customer_id: order.customer_id,
    subject: `Question about order ${order.id}`,
    body: `The order is ${order.status} since ${order.placed_on}.`,
    priority: "high",
  });
  await assign_ticket({ ticket_id: ticket.id, agent_id: {{agent}} });
  await send_email({
    customer_id: order.customer_id,
    subject: `Your order ${order.id}`,
    body: "We have opened a ticket about your order and come back to you soon.",
  });
  return { ticket_id: ticket.id, agent_id: {{agent}} };
}
