// Deep path.
// expect: returned 1
// ran: 2
async function run(params) {
  const t = await save({});
  let x = t;
  for (let i = 0; i < 100; i++) x = x.a;
  await save({ x });
  return 1;
}
