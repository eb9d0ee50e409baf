// Date now replaced.
// expect: returned [5, true]
async function run(params) {
  Date.now = () => 5;
  return [Date.now(), new Date().getFullYear() === 2026];
}
