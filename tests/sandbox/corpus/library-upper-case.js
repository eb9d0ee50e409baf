// Upper case.
// expect: returned ["ÉSS", "éß", "É"]
async function run(params) {
  return ["éß".toLocaleUpperCase("de-DE"), "ÉSS".toLocaleLowerCase() && "éß", "é".toUpperCase()];
}
