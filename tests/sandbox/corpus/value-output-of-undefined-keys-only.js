// Output of undefined keys only.
// expect: returned {}
async function run(params) {
  return { a: undefined, b() {} };
}
