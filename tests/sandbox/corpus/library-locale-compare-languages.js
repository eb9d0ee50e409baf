// Locale compare languages.
// expect: returned [-1, 1, -1, -1, 1]
async function run(params) {
  return ["ñ".localeCompare("nz"), "ñ".localeCompare("nz", "es"), "ñ".localeCompare("o", "es-MX"), "a".localeCompare("b", ["pt-BR", "en"]), "ä".localeCompare("a", "de")];
}
