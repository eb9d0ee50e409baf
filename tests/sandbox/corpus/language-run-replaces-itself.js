// Run replaces itself.
// expect: returned 1
async function run() { globalThis.run = () => 2; return 1; }
