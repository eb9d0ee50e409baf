async function run(params) {
  const customers = await list_customers();
  return { customers: customers.length };
}
