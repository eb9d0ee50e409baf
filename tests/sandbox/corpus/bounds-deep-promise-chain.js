// Deep promise chain.
// expect: returned 100000
// limits: {"execute_seconds_max": 5}
async function run(params) {
  let p = Promise.resolve(0);
  for (let i = 0; i < 1e5; i++) p = p.then((n) => n + 1);
  return await p;
}
