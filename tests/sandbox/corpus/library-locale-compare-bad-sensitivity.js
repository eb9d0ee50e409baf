// Locale compare bad sensitivity.
// expect: execution.thrown
// says: sensitivity
async function run(params) {
  return "a".localeCompare("b", "en", { sensitivity: "loose" });
}
