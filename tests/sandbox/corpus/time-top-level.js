// A loop before run is even defined.
// expect: execution.timeout
for (;;) {}
async function run() {}
