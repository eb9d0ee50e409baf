// A loop in finally.
// expect: execution.timeout
async function run(params) {
  try {
    return 1;
  } finally {
    for (;;);
  }
}
