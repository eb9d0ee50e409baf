// References stand beside the arguments.
// expect: returned {"effects": 2}
// args: [{"title": "x"}, {"lines": [1, null, null]}]
// refs: [["/ticket_id", 0, "/id"], ["/lines/1", 0, "/lines/0/a"], ["/lines/2", 0, ""]]
async function run(params) {
  const ticket = await save({ title: "x" });
  await save({ ticket_id: ticket.id, lines: [1, ticket.lines[0].a, ticket] });
  return { effects: 2 };
}
