async function run(params) {
  const order = await cancel_order({ order_id: {{order}}, reason: "Asked for by the customer" });
  return { order_id: {{order}}, order };
}
