// Argument tojson recursive.
// expect: execution.stack
// ran: 0
async function run(params) {
  const o = { toJSON() { return { o: { toJSON: o.toJSON } }; } };
  return await echo(o);
}
