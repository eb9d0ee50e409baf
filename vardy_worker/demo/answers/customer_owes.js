async function run(params) {
  const invoices = await list_invoices({ customer_id: {{customer}}, status: "open" });
  const cents = invoices.reduce((sum, invoice) => sum + invoice.amount_cents, 0);
  return { customer_id: {{customer}}, open_invoices: invoices.length, owed_cents: cents };
}
