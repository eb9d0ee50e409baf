// Boxed symbol.
// expect: returned {}
async function run(params) {
  return Object(Symbol("s"));
}
