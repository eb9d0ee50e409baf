// Date far.
// expect: returned ["+010000-01-01T00:00:00.000Z", "-000001-01-01T00:00:00.000Z"]
async function run(params) {
  return [new Date(Date.UTC(10000, 0)), new Date(Date.UTC(-1, 0))];
}
