// Symbols.
// expect: returned [7, "[object Odd]", true, [1, 2]]
async function run(params) {
  const o = { [Symbol.toPrimitive]: () => 7, get [Symbol.toStringTag]() { return "Odd"; }, *[Symbol.iterator]() { yield 1; yield 2; } };
  class Even { static [Symbol.hasInstance](n) { return n % 2 === 0; } }
  return [+o, Object.prototype.toString.call(o), 2 instanceof Even, [...o]];
}
