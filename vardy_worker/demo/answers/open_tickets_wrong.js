async function run(params) {
  const tickets = await get_open_tickets();
  return tickets.length;
}
