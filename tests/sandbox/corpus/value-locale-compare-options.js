// The common options of localeCompare.
// expect: returned [["a2", "a10"], 0]
async function run(params) {
  return [["a2", "a10"].sort((x, y) => x.localeCompare(y, undefined, { numeric: true })), "É".localeCompare("e", "fr", { sensitivity: "base" })];
}
