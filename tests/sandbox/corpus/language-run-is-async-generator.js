// Run is async generator.
// expect: execution.value
async function* run() { yield 1; }
