// Intl collator.
// expect: execution.missing
async function run(params) {
  return ["b", "a"].sort(new Intl.Collator("sv").compare);
}
