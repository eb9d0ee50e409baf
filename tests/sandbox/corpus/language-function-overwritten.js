// Function overwritten.
// expect: returned "mine"
// ran: 0
async function run(params) {
  globalThis.echo = () => "mine";
  return echo({});
}
