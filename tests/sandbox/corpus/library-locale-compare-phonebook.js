// Locale compare phonebook.
// expect: execution.missing
// says: de-u-co-phonebk
async function run(params) {
  return "a".localeCompare("ä", "de-u-co-phonebk");
}
