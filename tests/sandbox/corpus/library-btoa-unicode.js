// Btoa unicode.
// expect: execution.thrown
async function run(params) {
  return btoa("é€");
}
