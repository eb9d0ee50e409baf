// What JSON cannot say is null.
// expect: returned [null, null, null, 0, 0.1]
// warns: NaN
async function run(params) {
  return [NaN, Infinity, -Infinity, -0, 0.1];
}
