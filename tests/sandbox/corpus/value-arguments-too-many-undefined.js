// Arguments too many undefined.
// expect: returned {"a": 1}
async function run(params) {
  return await echo({ a: 1 }, ...[]);
}
