// Run recursive.
// expect: returned 6
async function run(params, n = 3) { return n === 0 ? 0 : n + (await run(params, n - 1)); }
