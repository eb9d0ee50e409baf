// Async generator early exit.
// expect: returned ["closed", 1]
// ran: 1
async function run(params) {
  let note = "";
  async function* pages() { try { for (let n = 1; ; n++) yield (await echo({ n })).n; } finally { note = "closed"; } }
  for await (const n of pages()) return ((await 0), [await new Promise((r) => r("closed")), n]);
}
