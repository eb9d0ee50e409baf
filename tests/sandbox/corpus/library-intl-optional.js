// Intl optional.
// expect: returned ["undefined", "none"]
async function run(params) {
  return [typeof Intl, typeof Intl === "undefined" ? "none" : "some"];
}
