// Function new.
// expect: returned {}
// ran: 1
async function run(params) {
  return await new echo({});
}
