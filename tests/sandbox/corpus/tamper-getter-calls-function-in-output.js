// Getter calls function in output.
// expect: execution.unawaited_call
async function run(params) {
  return { get a() { echo({}); return 1; } };
}
