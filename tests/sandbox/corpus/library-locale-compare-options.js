// Locale compare options.
// expect: returned [0, 0, 1, 0, 1, -1, -1, 1, 0, -1]
async function run(params) {
  return ["a".localeCompare("Á", "en", { sensitivity: "base" }), "a".localeCompare("A", "en", { sensitivity: "accent" }), "á".localeCompare("a", "en", { sensitivity: "accent" }), "á".localeCompare("a", "en", { sensitivity: "case" }), "A".localeCompare("a", "en", { sensitivity: "case" }), "A".localeCompare("a", "en", { caseFirst: "upper" }), "x9".localeCompare("x10", undefined, { numeric: true }), "x9".localeCompare("x10"), "co-op".localeCompare("coop", "en", { ignorePunctuation: true }), "x007".localeCompare("x8", "en", { numeric: true })];
}
