// Frozen everything.
// expect: returned {"a": 1}
async function run(params) {
  for (const C of [Object, Array, Promise, Map, Set, Date, Error, String, Number]) { Object.freeze(C); Object.freeze(C.prototype); } return await echo({ a: 1 });
}
