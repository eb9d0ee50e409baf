// Unhandled in background.
// expect: returned 1
// warns: lost
async function run(params) {
  (async () => { throw new Error("lost"); })();
  return 1;
}
