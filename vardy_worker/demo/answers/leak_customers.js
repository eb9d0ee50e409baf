async function run(params) {
  const customers = await list_customers();
  console.log(customers);
  throw new Error(JSON.stringify(customers));
}
