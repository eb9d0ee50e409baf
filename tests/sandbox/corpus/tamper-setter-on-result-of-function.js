// Setter on result of function.
// expect: returned ["__proto__", false]
async function run(params) {
  const r = await proto({});
  return [Object.keys(r)[0], "admin" in {}];
}
