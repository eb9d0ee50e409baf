// From async.
// expect: returned [[{"n": 1}, {"n": 2}], 2]
async function run(params) {
  const a = await Array.fromAsync([1, 2], (n) => echo({ n }));
  return [a, a.length];
}
