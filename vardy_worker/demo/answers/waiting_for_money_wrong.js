async function run(params) {
  const bills = await list_bills({ status: "paid" });
  return bills.length;
}
