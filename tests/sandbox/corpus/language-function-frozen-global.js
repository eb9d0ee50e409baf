// Function frozen global.
// expect: returned {}
async function run(params) {
  Object.freeze(globalThis);
  return await echo({});
}
