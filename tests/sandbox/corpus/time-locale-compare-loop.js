// Locale compare loop.
// expect: execution.timeout
async function run(params) {
  for (;;) "é".repeat(100).localeCompare("e".repeat(100));
}
