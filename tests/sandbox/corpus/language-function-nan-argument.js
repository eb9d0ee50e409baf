// Function nan argument.
// expect: returned {"n": null}
// warns: NaN
async function run(params) {
  return await echo({ n: NaN });
}
