// Then returns.
// expect: returned 3
async function run(params) {
  return echo({ n: 2 }).then(({ n }) => n + 1);
}
