async function run(params) {
  const today = new Date().toISOString().slice(0, 10);
  const [invoices, customers] = await Promise.all([
    list_invoices({ status: "open", due_before: today }),
    list_customers(),
  ]);
  const names = new Map(customers.map((customer) => [customer.id, customer.name]));
  const owed = new Map();
  for (const invoice of invoices) {
    owed.set(invoice.customer_id, (owed.get(invoice.customer_id) ?? 0) + invoice.amount_cents);
  }
  const overdue = [...owed].map(([customer_id, cents]) => ({ customer: names.get(customer_id), overdue_cents: cents }));
  overdue.sort((a, b) => b.overdue_cents - a.overdue_cents);
  return { customers: overdue.length, overdue };
}
