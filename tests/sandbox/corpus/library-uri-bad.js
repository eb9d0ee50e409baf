// Uri bad.
// expect: execution.thrown
async function run(params) {
  return encodeURIComponent("\ud800");
}
