// A promise of a call inside the output.
// expect: execution.unawaited_call
async function run(params) {
  return { rows: rows({ count: 1 }) };
}
