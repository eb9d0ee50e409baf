// A thrown string.
// expect: execution.thrown
// says: boom
async function run(params) {
  throw "boom";
}
