// The value of a write's result is not there yet.
// expect: execution.placeholder
// says: as an argument of a later write
async function run(params) {
  const ticket = await save({ title: "x" });
  return Number(ticket.id);
}
