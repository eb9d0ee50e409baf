// Promise subclass output.
// expect: execution.value
// says: /a
async function run(params) {
  class P extends Promise {}
  return { a: P.resolve(1) };
}
