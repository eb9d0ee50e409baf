// Run promise own then.
// expect: returned "real"
function run() { const p = Promise.resolve("real"); p.then = (f) => f("own"); return p; }
