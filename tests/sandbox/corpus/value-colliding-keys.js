// Colliding keys.
// expect: returned {"\ufffd": 2}
async function run(params) {
  return { "\ud800": 1, "\udbff": 2 };
}
