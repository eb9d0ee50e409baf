// Finalization registry.
// expect: execution.missing
async function run(params) {
  return new FinalizationRegistry(() => 1);
}
