// Map method.
// expect: execution.placeholder
async function run(params) {
  return (await save({})).list.map((x) => x);
}
