// Getter in arguments calls write.
// expect: returned {"a": 1}
// ran: 2
async function run(params) {
  let inner;
  const got = await echo({ get a() { inner = save({}); return 1; } });
  await inner;
  return got;
}
