// Matchall output.
// expect: execution.value
async function run(params) {
  return "a1".matchAll(/\d/g);
}
