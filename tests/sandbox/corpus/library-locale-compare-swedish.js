// Locale compare swedish.
// expect: execution.missing
// says: for sv
async function run(params) {
  return "a".localeCompare("ä", "sv");
}
