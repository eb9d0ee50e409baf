// allSettled sees every end.
// expect: returned ["fulfilled", "rejected"]
async function run(params) {
  const all = await Promise.allSettled([echo({}), fail({})]);
  return all.map((one) => one.status);
}
