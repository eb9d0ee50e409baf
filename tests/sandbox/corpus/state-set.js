// Leaves marks for the next case, in vain.
// expect: returned null
Object.prototype.x = 1;
globalThis.y = 2;
Array.prototype.map = null;
async function run(params) {
  return null;
}
