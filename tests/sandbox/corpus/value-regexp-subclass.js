// Regexp subclass.
// expect: returned {}
async function run(params) {
  return new (class R extends RegExp {})("a");
}
