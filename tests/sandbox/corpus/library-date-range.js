// Date range.
// expect: returned [null, "+275760-09-13T00:00:00.000Z", "-000001-01-01T00:00:00.000Z"]
// warns: invalid
async function run(params) {
  return [new Date(8.64e15 + 1), new Date(8.64e15), new Date("-000001-01-01T00:00:00Z")];
}
