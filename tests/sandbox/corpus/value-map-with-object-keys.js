// Map with object keys.
// expect: returned [[{"k": 1}, 2]]
async function run(params) {
  return new Map([[{ k: 1 }, 2]]);
}
