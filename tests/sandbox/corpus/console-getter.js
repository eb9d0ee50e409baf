// A getter is not called.
// expect: returned null
// prints: [getter]
async function run(params) {
  console.log({ get a() { throw 1; } });
  return null;
}
