// typeof tells the truth.
// expect: returned ["undefined", "undefined", "function"]
async function run(params) {
  return [typeof setTimeout, typeof process, typeof structuredClone];
}
