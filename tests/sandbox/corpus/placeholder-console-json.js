// Console json.
// expect: execution.placeholder
async function run(params) {
  console.log(JSON.stringify(await save({})));
  return 1;
}
