// Nothing that stops a program can be caught by it.
// expect: execution.timeout
async function run(params) {
  for (;;) {
    try {
      for (;;);
    } catch {}
  }
}
