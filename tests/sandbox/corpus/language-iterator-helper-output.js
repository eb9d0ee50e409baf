// Iterator helper output.
// expect: execution.value
async function run(params) {
  return { x: [1, 2].values().map((x) => x * 2) };
}
