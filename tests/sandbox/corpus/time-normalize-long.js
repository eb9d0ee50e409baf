// Normalize long.
// expect: returned 1500000
// limits: {"execute_seconds_max": 5}
async function run(params) {
  return "é".repeat(1.5e6).normalize("NFD").normalize("NFC").length;
}
