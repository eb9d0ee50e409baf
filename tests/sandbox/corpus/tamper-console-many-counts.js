// Console many counts.
// expect: returned 1
async function run(params) {
  for (let i = 0; i < 1e4; i++) console.count("l" + i);
  return 1;
}
