async function run(params) {
  const today = new Date().toISOString().slice(0, 10);
  const [customers, invoices, tickets] = await Promise.all([
    list_customers(),
    list_invoices({ status: "open", due_before: today }),
    list_tickets({ status: "open" }),
  ]);
  const found = new Map(
    customers.map(({ id, name }) => [id, { id, name, overdue_cents: 0, days_late: 0, open_tickets: 0, urgent_tickets: 0 }]),
  );
  for (const invoice of invoices) {
    const one = found.get(invoice.customer_id);
    one.overdue_cents += invoice.amount_cents;
    one.days_late = Math.max(one.days_late, Math.round((Date.parse(today) - Date.parse(invoice.due_on)) / 86_400_000));
  }
  for (const ticket of tickets) {
    const one = found.get(ticket.customer_id);
    one.open_tickets += 1;
    if (ticket.priority === "high") one.urgent_tickets += 1;
  }
  const weight = (one) => one.urgent_tickets * 100 + one.open_tickets * 20 + one.days_late + one.overdue_cents / 10_000;
  const ranked = [...found.values()].filter((one) => weight(one) > 0).sort((a, b) => weight(b) - weight(a));
  return {
    customers_with_trouble: ranked.length,
    overdue_cents: ranked.reduce((sum, one) => sum + one.overdue_cents, 0),
    open_tickets: tickets.length,
    first: ranked.slice(0, 3),
  };
}
