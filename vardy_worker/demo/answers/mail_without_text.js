async function run(params) {
  const customers = await list_customers();
  for (const customer of customers) {
    const mail = Object.fromEntries([["customer_id", customer.id], ["subject", "News"]]);
    await send_email(mail);
  }
  return { mails: customers.length };
}
