// Math object.
// expect: returned {}
async function run(params) {
  return Math;
}
