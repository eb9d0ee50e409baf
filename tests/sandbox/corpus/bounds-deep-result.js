// Deep result.
// expect: returned 100
// params: {}
async function run(params) {
  const r = await echo({ n: 100 });
  return r.n;
}
