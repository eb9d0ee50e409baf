// Console deep.
// expect: returned 1
// prints: …
async function run(params) {
  let o = {};
  for (let i = 0; i < 1e4; i++) o = { o };
  console.log(o);
  return 1;
}
