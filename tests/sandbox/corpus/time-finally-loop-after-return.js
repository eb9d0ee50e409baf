// Finally loop after return.
// expect: execution.timeout
async function run(params) {
  try { return 1; } finally { while (true) {} }
}
