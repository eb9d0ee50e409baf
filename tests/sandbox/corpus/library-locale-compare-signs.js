// Locale compare signs.
// expect: returned [" x", "_x", "-x", "@x", "€x", "1x", "x", "😀"]
async function run(params) {
  return ["x", "-x", "_x", "1x", "€x", " x", "@x", "😀"].sort((a, b) => a.localeCompare(b)).sort((a, b) => (a === "😀") - (b === "😀"));
}
