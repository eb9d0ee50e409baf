/*---
name: customer-balance
description: What a customer still owes, and what of it is overdue.
params_schema:
  type: object
  properties:
    customer_id: {type: integer, minimum: 1}
  required: [customer_id]
  additionalProperties: false
reviewed_by: lea
---*/
async function run(params) {
  const invoices = await list_invoices({ customer_id: params.customer_id, status: "open" });
  const today = new Date().toISOString().slice(0, 10);
  const cents = (some) => some.reduce((sum, invoice) => sum + invoice.amount_cents, 0);
  const overdue = invoices.filter((invoice) => invoice.due_on < today);
  return { open_invoices: invoices.length, owed_cents: cents(invoices), overdue_cents: cents(overdue) };
}
