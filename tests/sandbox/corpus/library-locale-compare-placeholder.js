// Locale compare placeholder.
// expect: execution.placeholder
async function run(params) {
  const t = await save({});
  return "a".localeCompare(t.name);
}
