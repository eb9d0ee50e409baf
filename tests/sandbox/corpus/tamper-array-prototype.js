// Broken array methods do not reach the encoder.
// expect: returned [1, {"a": [2]}]
async function run(params) {
  Array.prototype.map = null;
  Array.prototype[Symbol.iterator] = null;
  Array.prototype.push = () => { throw 1; };
  Object.defineProperty(Array.prototype, 0, { set() { throw 1; } });
  const all = [, { a: [2] }];
  Object.defineProperty(all, 0, { value: 1 });
  return all;
}
