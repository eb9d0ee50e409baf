// Argument tojson self.
// expect: execution.stack | execution.value
// ran: 0
async function run(params) {
  const o = { toJSON() { return o; } };
  return await echo({ o });
}
