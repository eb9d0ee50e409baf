// Nested promise resolution.
// expect: returned 1
async function run(params) {
  let p = Promise.resolve(1);
  for (let i = 0; i < 1e4; i++) { const q = p; p = new Promise((r) => r(q)); } return await p;
}
