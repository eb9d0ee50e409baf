// All prototype methods null.
// expect: returned {"d": "1970-01-01T00:00:00.000Z", "m": {"a": 1}, "s": [1], "n": 1, "b": "5", "r": "/x/g", "e": {"name": "TypeError", "message": "bad"}}
async function run(params) {
  const v = { d: new Date(0), m: new Map([["a", 1]]), s: new Set([1]), n: Object(1), b: 5n, r: /x/g, e: new TypeError("bad") };
  for (const C of [Date, Map, Set, Number, String, BigInt, Function.prototype.constructor === undefined ? Object : Array, Promise, RegExp]) for (const k of Object.getOwnPropertyNames(C.prototype)) if (k !== "constructor" && k !== "flags" && k !== "source") try { C.prototype[k] = null; } catch {}
  for (const k of Object.getOwnPropertyNames(Reflect)) Reflect[k] = null;
  for (const k of Object.getOwnPropertyNames(Object)) try { Object[k] = null; } catch {}
  JSON.stringify = JSON.parse = null;
  globalThis.JSON = null;
  globalThis.Promise = null;
  globalThis.Error = null;
  globalThis.Map = null;
  return v;
}
