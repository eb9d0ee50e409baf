// Atob long.
// expect: returned 3000000
// limits: {"execute_seconds_max": 5}
async function run(params) {
  return atob("A".repeat(4e6)).length;
}
