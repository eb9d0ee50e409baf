// Iterator prototype.
// expect: returned {"a": 1}
async function run(params) {
  Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())).next = null;
  Iterator.prototype[Symbol.iterator] = null;
  return await echo({ a: 1 });
}
