// Awaiting it gives itself.
// expect: returned true
async function run(params) {
  const ticket = await save({});
  return (await ticket) === ticket && (await Promise.all([ticket]))[0] === ticket;
}
