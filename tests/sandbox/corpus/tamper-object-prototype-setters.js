// Object prototype setters.
// expect: returned {"a": [1, {"b": 2}]}
// args: [{"a": [1, {"b": 2}]}]
async function run(params) {
  for (const k of ["at", "effect", "path", "k", "code", "id", "f", "line", "column", "refs", "text", "0", "1", "value", "get", "set", "resolve", "reject", "site", "length", "left", "above", "where"]) Object.defineProperty(Object.prototype, k, { __proto__: null, set() { throw new Error("caught " + k); }, get() { throw new Error("read " + k); }, configurable: true });
  return await echo({ a: [1, { b: 2 }] });
}
