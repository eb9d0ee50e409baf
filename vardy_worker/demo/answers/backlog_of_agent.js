async function run(params) {
  const [tickets, customers] = await Promise.all([list_tickets({ status: "open", agent_id: {{agent}} }), list_customers()]);
  const names = new Map(customers.map((customer) => [customer.id, customer.name]));
  const today = Date.parse(new Date().toISOString().slice(0, 10));
  const days = (ticket) => Math.round((today - Date.parse(ticket.opened_on)) / 86_400_000);
  return tickets
    .map((ticket) => ({ id: ticket.id, customer: names.get(ticket.customer_id), priority: ticket.priority, days: days(ticket) }))
    .sort((a, b) => b.days - a.days)
    .slice(0, 5);
}
