// Proxy of it as argument.
// expect: execution.placeholder
async function run(params) {
  return await echo({ x: new Proxy(await save({}), {}) });
}
