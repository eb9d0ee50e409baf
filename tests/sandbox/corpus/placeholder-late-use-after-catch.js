// Late use after catch.
// expect: returned "sorry"
async function run(params) {
  const t = await save({});
  try { return `${t}`; } catch (e) { return e.name === "PlaceholderError" ? "sorry" : e.name; }
}
