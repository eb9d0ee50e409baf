// Console placeholder.
// expect: returned 1
// prints: result of write
async function run(params) {
  console.log(await save({}), (await save({})).id);
  return 1;
}
