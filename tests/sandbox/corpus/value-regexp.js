// Regular expressions are their text.
// expect: returned {"r": "/a+/gi"}
// warns: RegExp
async function run(params) {
  return { r: /a+/gi };
}
