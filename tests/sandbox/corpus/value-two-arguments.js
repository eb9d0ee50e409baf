// Functions take one object.
// expect: execution.thrown
// says: one object
// ran: 0
async function run(params) {
  return echo(1, 2);
}
