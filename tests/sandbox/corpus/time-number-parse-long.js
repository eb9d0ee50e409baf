// Number parse long.
// expect: returned 0.1
async function run(params) {
  return parseFloat("0.1" + "0".repeat(1e6));
}
