async function run({ customer_id }) {
  const invoices = await list_invoices({ customer_id, status: "open" });
  const cents = invoices.reduce((sum, invoice) => sum + invoice.amount_cents, 0);
  return { customer_id, open_invoices: invoices.length, owed_cents: cents };
}
