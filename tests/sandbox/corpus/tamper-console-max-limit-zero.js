// Console max limit zero.
// expect: returned 1
// limits: {"console_bytes_max": 1}
async function run(params) {
  console.log("x");
  return 1;
}
