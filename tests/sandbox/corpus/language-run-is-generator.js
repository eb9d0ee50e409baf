// Run is generator.
// expect: execution.value
function* run() { yield 1; }
