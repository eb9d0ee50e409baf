// Run is placeholder like.
// expect: execution.thrown
const run = new Proxy({}, {});
