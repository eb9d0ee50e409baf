// Structured clone proto.
// expect: returned [true, null]
async function run(params) {
  const c = structuredClone(JSON.parse('{"__proto__": {"admin": true}}'));
  return [Object.hasOwn(c, "__proto__"), c.admin === true ? true : null];
}
