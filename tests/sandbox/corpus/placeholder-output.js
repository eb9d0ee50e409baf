// References stand beside the output.
// expect: returned {"list": [null, 1]}
// output_refs: [["/id", 0, "/id"], ["/list/0", 0, ""]]
async function run(params) {
  const ticket = await save({});
  return { id: ticket.id, list: [ticket, 1] };
}
