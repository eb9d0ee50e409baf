// Function getter argument reads once.
// expect: returned [{"n": 1}, 1]
async function run(params) {
  let reads = 0;
  const got = await echo({ get n() { return ++reads; } });
  return [got, reads];
}
