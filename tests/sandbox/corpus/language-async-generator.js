// Async generator.
// expect: returned [{"n": 1}, {"n": 2}, {"n": 3}]
// ran: 3
async function run(params) {
  async function* pages() { for (let n = 1; n <= 3; n++) yield await echo({ n }); }
  const out = [];
  for await (const page of pages()) out.push(page);
  return out;
}
