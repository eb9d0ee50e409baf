// Function deleted.
// expect: execution.thrown
async function run(params) {
  delete globalThis.echo;
  return await echo({});
}
