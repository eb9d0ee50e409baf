/*---
name: damaged-goods
description: Gives money back for goods that arrived damaged, and tells the customer.
params_schema:
  type: object
  properties:
    payment_id: {type: integer, minimum: 1}
    amount_cents: {type: integer, minimum: 1}
  required: [payment_id, amount_cents]
  additionalProperties: false
# Up to 80.00 support decides alone: the rules allow what stays within these bounds.
envelope:
  effects_max: 2
  functions:
    refund_payment:
      effects_max: 1
      arguments:
        amount_cents: {max: 8000}
    send_email: {effects_max: 1}
reviewed_by: lea
---*/
async function run(params) {
  const payments = await list_payments();
  const payment = payments.find((each) => each.id === params.payment_id);
  if (payment === undefined) throw new Error(`There is no payment ${params.payment_id}.`);
  await refund_payment({ payment_id: payment.id, amount_cents: params.amount_cents, reason: "Arrived damaged" });
  const amount = (params.amount_cents / 100).toFixed(2);
  await send_email({
    customer_id: payment.customer_id,
    subject: "Your refund",
    body: `We are sorry that your goods arrived damaged. ${amount} euros are on their way to you.`,
  });
  return { customer_id: payment.customer_id, refunded_cents: params.amount_cents };
}
