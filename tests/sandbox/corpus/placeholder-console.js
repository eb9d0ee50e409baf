// Printing it is harmless.
// expect: returned null
// prints: does not exist yet
async function run(params) {
  const t = await save({});
  console.log(t, [t.id]);
  return null;
}
