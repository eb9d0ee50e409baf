// Linked list dropped.
// expect: returned 1
async function run(params) {
  let o = null;
  for (let i = 0; i < 3e5; i++) o = { o };
  o = null;
  return 1;
}
