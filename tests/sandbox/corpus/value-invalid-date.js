// An invalid date is null.
// expect: returned null
// warns: invalid Date
async function run(params) {
  return new Date("nonsense");
}
