// Then job throws loop.
// expect: execution.timeout
async function run(params) {
  const f = () => Promise.reject(1).catch(f);
  await f();
}
