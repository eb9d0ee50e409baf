// Symbols are left out.
// expect: returned {"a": [null]}
// warns: Symbol
async function run(params) {
  return { s: Symbol("x"), a: [Symbol.iterator] };
}
