// A proxy that throws.
// expect: returned null
// prints: [cannot be shown]
async function run(params) {
  console.log(new Proxy({}, { ownKeys() { throw 1; } }));
  return null;
}
