// Proxy of it.
// expect: execution.placeholder | returned {}
async function run(params) {
  return new Proxy(await save({}), {});
}
