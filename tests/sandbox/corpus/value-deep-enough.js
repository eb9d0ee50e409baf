// A hundred levels are fine.
// expect: returned 201
async function run(params) {
  return (() => {
    let o = 1;
    for (let i = 0; i < 100; i++) o = [o];
    return JSON.stringify(o).length;
  })();
}
