// A rejection that nobody handles is a warning.
// expect: returned 1
// warns: lost
async function run(params) {
  Promise.reject(new Error("lost"));
  return 1;
}
