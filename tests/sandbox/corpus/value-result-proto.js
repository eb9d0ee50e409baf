// __proto__ as data in a result pollutes nothing.
// expect: returned [true, false]
async function run(params) {
  const found = await proto({});
  return [Object.keys(found)[0] === "__proto__", "admin" in found];
}
