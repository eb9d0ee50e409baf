// Tagged template.
// expect: returned ["a|b|\\n", [1, 2]]
async function run(params) {
  const tag = (s, ...v) => [s.raw.join("|"), v];
  return tag`a${1}b${2}\n`;
}
