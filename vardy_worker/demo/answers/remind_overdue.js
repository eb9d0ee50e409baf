async function run(params) {
  const today = new Date().toISOString().slice(0, 10);
  const [invoices, customers] = await Promise.all([
    list_invoices({ status: "open", due_before: today }),
    list_customers(),
  ]);
  let mails = 0;
  for (const customer of customers) {
    const due = invoices.filter((invoice) => invoice.customer_id === customer.id);
    if (due.length === 0) continue;
    const cents = due.reduce((sum, invoice) => sum + invoice.amount_cents, 0);
    await send_email({
      customer_id: customer.id,
      subject: "A friendly reminder",
      body: `Dear ${customer.name}, ${due.length} of your invoices is past its date: ${(cents / 100).toFixed(2)} euros in all.`,
    });
    mails += 1;
  }
  return { mails };
}
