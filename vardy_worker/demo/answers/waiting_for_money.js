async function run(params) {
  const [invoices, payments] = await Promise.all([list_invoices({ status: "paid" }), list_payments()]);
  const paid = new Map(payments.map((payment) => [payment.invoice_id, payment.paid_on]));
  const days = invoices
    .filter((invoice) => paid.has(invoice.id))
    .map((invoice) => Math.round((Date.parse(paid.get(invoice.id)) - Date.parse(invoice.issued_on)) / 86_400_000))
    .sort((a, b) => a - b);
  if (days.length === 0) return { paid_invoices: 0 };
  const mean = days.reduce((sum, one) => sum + one, 0) / days.length;
  return {
    paid_invoices: days.length,
    mean_days: Math.round(mean * 10) / 10,
    median_days: days[Math.floor(days.length / 2)],
    longest_days: days.at(-1),
  };
}
