// Deadlock lost resolver.
// expect: execution.deadlock
async function run(params) {
  await Promise.race([]);
}
