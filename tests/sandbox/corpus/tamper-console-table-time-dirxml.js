// Console table time dirxml.
// expect: returned ["undefined", "function"]
async function run(params) {
  console.time("x");
  console.timeLog("x");
  console.timeEnd("x");
  console.table([{ a: 1 }], ["a"]);
  return [typeof console.profile, typeof console.dir];
}
