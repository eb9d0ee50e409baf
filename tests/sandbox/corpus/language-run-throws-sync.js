// Run throws sync.
// expect: execution.thrown
// says: sync
function run() { throw new Error("sync"); }
