// Call as argument.
// expect: execution.value
// says: await it
async function run(params) {
  return await echo({ p: echo({}) });
}
