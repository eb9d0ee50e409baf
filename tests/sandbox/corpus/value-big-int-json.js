// Big int json.
// expect: execution.thrown
async function run(params) {
  return JSON.stringify(await big({}));
}
