// Symbol iterator.
// expect: returned {"a": [1, [2]], "m": [[1, 2]], "s": [3]}
async function run(params) {
  Array.prototype[Symbol.iterator] = Map.prototype[Symbol.iterator] = Set.prototype[Symbol.iterator] = function* () { yield "evil"; };
  return { a: [1, [2]], m: new Map().set(1, 2), s: new Set().add(3) };
}
