// Sync run.
// expect: returned 7
function run(params) { return 7; }
