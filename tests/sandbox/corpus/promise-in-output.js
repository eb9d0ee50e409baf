// Any other promise inside the output.
// expect: execution.value
// says: /later
async function run(params) {
  return { later: (async () => 1)() };
}
