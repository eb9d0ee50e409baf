// Half characters from a function are replaced.
// expect: returned ["�", 1]
async function run(params) {
  const { text } = await surrogate({});
  return [text, text.length];
}
