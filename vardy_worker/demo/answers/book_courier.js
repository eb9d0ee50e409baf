async function run(params) {
  const booking = await book_courier({ order_id: {{order}} });
  return { order_id: {{order}}, booking };
}
