// Uint8array.
// expect: returned 1
// prints: hello
async function run(params) {
  for (const k of Object.getOwnPropertyNames(Uint8Array.prototype.__proto__)) try { Object.defineProperty(Uint8Array.prototype.__proto__, k, { value: null, configurable: true }); } catch {} console.log("hello");
  return 1;
}
