// Catching the error of one call does not let a program go on with others.
// expect: execution.args_too_large
// limits: {"execute_seconds_max": 20}
async function run(params) {
  for (;;) {
    try {
      await echo({ text: "x".repeat(1100000) });
    } catch {
      await echo({});
    }
  }
}
