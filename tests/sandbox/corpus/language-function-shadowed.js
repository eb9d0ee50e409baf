// Function shadowed.
// expect: returned "mine"
// ran: 0
const echo = () => "mine";
async function run() { return echo({}); }
