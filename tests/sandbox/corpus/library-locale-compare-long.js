// Locale compare long.
// expect: returned 1
// limits: {"execute_seconds_max": 5}
async function run(params) {
  return ("é".repeat(1e5) + "b").localeCompare("é".repeat(1e5) + "a");
}
