// Broken object methods do not either.
// expect: returned {"a": {"b": 1}}
async function run(params) {
  Object.defineProperty(Object.prototype, "b", { set() { throw 1; }, configurable: true });
  Object.defineProperty(Object.prototype, "get", { value: () => 7, writable: true });
  Object.keys = JSON.stringify = Reflect.ownKeys = () => { throw 1; };
  const b = JSON.parse('{"b": 1}');
  return { a: b };
}
