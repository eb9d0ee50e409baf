async function run(params) {
  const amount_cents = Math.round({{amount}} * 100);
  const refund = await refund_payment({ payment_id: {{payment}}, amount_cents, reason: "Goodwill" });
  return { payment_id: {{payment}}, amount_cents, refund_id: refund.id };
}
